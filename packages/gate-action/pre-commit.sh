#!/usr/bin/env bash
# The hook for pre-commit: compares the staged version of each file with the last commit. Words that begin with `-` are
# arguments of `lodestone model gate`, the others are files.
set -euo pipefail

lodestone="${LODESTONE:-lodestone}"
if ! command -v "$lodestone" > /dev/null; then
  echo "The hook needs lodestone on the PATH: npm install --global lodestone-db, or pip install lodestone-db"
  exit 2
fi
# Before the first commit there is nothing to compare with: an empty tree.
base=HEAD
git rev-parse --verify --quiet HEAD > /dev/null || base=$(git hash-object -t tree /dev/null)

arguments=()
files=()
for word in "$@"; do
  case "$word" in
    -*) arguments+=("$word") ;;
    *) files+=("$word") ;;
  esac
done
status=0
for file in ${files[@]+"${files[@]}"}; do
  "$lodestone" model gate ${arguments[@]+"${arguments[@]}"} -- "$base:$file" ":$file" || status=1
done
exit "$status"
