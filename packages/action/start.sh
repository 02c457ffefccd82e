#!/usr/bin/env bash
# Starts the program of lodestone-db, which is installed in $RUNNER_TEMP/lodestone, for the rest of a job, and points
# AWS SDKs to it. The package's own command would end with this step, so the program itself is started.
set -euo pipefail

installed="$RUNNER_TEMP/lodestone"
log="$RUNNER_TEMP/lodestone.log"
program=$(cd "$installed" && node --print 'require("lodestone-db").binaryPath()')
# The arguments are words, so they are not quoted.
# shellcheck disable=SC2086
nohup "$program" serve --port "$PORT" $ARGUMENTS > "$log" 2>&1 &
server=$!

for _ in $(seq 300); do
  endpoint=$(sed -n 's/^lodestone is ready at \([^ ]*\).*/\1/p' "$log")
  if [ -n "$endpoint" ]; then
    {
      echo "AWS_ENDPOINT_URL_DYNAMODB=$endpoint"
      echo "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=$endpoint"
      echo "AWS_REGION=us-east-1"
      echo "AWS_DEFAULT_REGION=us-east-1"
      echo "AWS_ACCESS_KEY_ID=local"
      echo "AWS_SECRET_ACCESS_KEY=local"
    } >> "$GITHUB_ENV"
    echo "$installed/node_modules/.bin" >> "$GITHUB_PATH"
    { echo "endpoint=$endpoint"; echo "pid=$server"; } >> "$GITHUB_OUTPUT"
    exit 0
  fi
  kill -0 "$server" 2> /dev/null || break
  sleep 0.2
done
echo "::error::Lodestone is not ready"
cat "$log"
exit 1
