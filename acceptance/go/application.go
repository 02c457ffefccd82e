package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"models/comments"
	"models/everykind"
)

// pages writes a post with five comments, and reads the comments in two pages.
func pages(ctx context.Context, client *dynamodb.Client) (any, error) {
	post := comments.Post{PostID: "p-1", Title: "t", Body: "b", CreatedAt: "2026-01-01T00:00:00Z"}
	if err := comments.WritePost(ctx, client, post); err != nil {
		return nil, err
	}
	if found, err := comments.GetPost(ctx, client, "p-1"); err != nil || found == nil || *found != post {
		return nil, fmt.Errorf("the post is %v: %v", found, err)
	}
	for second := 0; second < 5; second++ {
		comment := comments.Comment{
			UserID:    "u-1",
			PostID:    "p-1",
			CreatedAt: fmt.Sprintf("2026-01-01T00:00:0%dZ", second),
			CommentID: fmt.Sprintf("c-%d", second),
			Text:      "hello",
		}
		if err := comments.PutComment(ctx, client, comment); err != nil {
			return nil, err
		}
	}
	var found [][]string
	var start map[string]types.AttributeValue
	for {
		page, next, err := comments.CommentsOnPost(ctx, client, "p-1", 3, start)
		if err != nil {
			return nil, err
		}
		var times []string
		for _, comment := range page {
			times = append(times, comment.CreatedAt)
		}
		found = append(found, times)
		if next == nil {
			return found, nil
		}
		start = next
	}
}

// missing reads a post that is not there, and writes one that is.
func missing(ctx context.Context, client *dynamodb.Client) (any, error) {
	if found, err := comments.GetPost(ctx, client, "none"); err != nil || found != nil {
		return nil, fmt.Errorf("the post is %v: %v", found, err)
	}
	post := comments.Post{PostID: "p-2", Title: "t", Body: "b", CreatedAt: "2026-01-01T00:00:00Z"}
	if err := comments.WritePost(ctx, client, post); err != nil {
		return nil, err
	}
	var failed *types.ConditionalCheckFailedException
	return errors.As(comments.WritePost(ctx, client, post), &failed), nil
}

// digits writes more readings than a batch takes, with more digits than a float has, and reads them.
func digits(ctx context.Context, client *dynamodb.Client) (any, error) {
	var readings []everykind.Reading
	for at := int64(0); at < 60; at++ {
		celsius := everykind.Number(fmt.Sprintf("%d.0000000000000000000000000000000001", at))
		readings = append(readings, everykind.Reading{DeviceID: "d-digits", At: at, Celsius: celsius})
	}
	if err := everykind.Load(ctx, client, readings, nil); err != nil {
		return nil, err
	}
	found, err := everykind.Readings(ctx, client, "d-digits", 0, 59)
	if err != nil {
		return nil, err
	}
	for position, reading := range found {
		if reading.Celsius != readings[position].Celsius {
			return nil, fmt.Errorf("%s instead of %s", reading.Celsius, readings[position].Celsius)
		}
	}
	return len(found), nil
}

func init() {
	type function = func(context.Context, *dynamodb.Client) (any, error)
	models["application"] = map[string]function{"pages": pages, "missing": missing, "digits": digits}
}
