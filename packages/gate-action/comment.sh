#!/usr/bin/env bash
# Writes the gate's comment on the pull request, or replaces the one that is there.
set -euo pipefail

comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
mark='.[] | select(.body | startswith("<!-- lodestone model gate -->")) | .id'
id=$(gh api --paginate "$comments" --jq "$mark" | sed -n 1p)
if [ -n "$id" ]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$MARKDOWN"
else
  gh api --silent --method POST "$comments" --field "body=@$MARKDOWN"
fi
