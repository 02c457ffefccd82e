// Command caller is a program that uses the packages of `lodestone model code --language go`.
//
// Its argument names a model. For each name of a pattern that it reads, it calls the pattern's function with values of
// the example data, and prints a line of JSON: the requests that were sent, and what the function returned.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"sort"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// recorder keeps the bodies of requests. One that is tried again is the same request.
type recorder struct {
	bodies     []json.RawMessage
	invocation string
}

func (sent *recorder) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if invocation := request.Header.Get("Amz-Sdk-Invocation-Id"); invocation != sent.invocation {
		sent.invocation = invocation
		sent.bodies = append(sent.bodies, body)
	}
	return http.DefaultClient.Do(request)
}

type answer struct {
	Requests []json.RawMessage
	Found    any
	Error    string
}

func main() {
	sent := &recorder{}
	credentials := func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "ACCEPTANCE", SecretAccessKey: "secret"}, nil
	}
	client := dynamodb.New(dynamodb.Options{
		Region:           "us-east-1",
		Credentials:      aws.CredentialsProviderFunc(credentials),
		EndpointResolver: dynamodb.EndpointResolverFromURL(os.Getenv("AWS_ENDPOINT_URL")),
		HTTPClient:       sent,
	})
	calls, ok := models[os.Args[1]]
	if !ok {
		log.Fatalf("there is no model %s", os.Args[1])
	}
	out := json.NewEncoder(os.Stdout)
	names := make([]string, 0, len(calls))
	for name := range calls {
		names = append(names, name)
	}
	sort.Strings(names)
	if err := out.Encode(names); err != nil {
		log.Fatal(err)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		sent.bodies = nil
		found, err := calls[in.Text()](context.Background(), client)
		reply := answer{Requests: sent.bodies, Found: found}
		if err != nil {
			reply.Error = err.Error()
		}
		if err := out.Encode(reply); err != nil {
			log.Fatal(err)
		}
	}
}
