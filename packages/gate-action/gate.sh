#!/usr/bin/env bash
# Compares each model file of the working tree with the one of a commit. Writes one comment, the summary of the job, and
# SARIF; says whether the gate passes, and ends with 0 in both cases, so that the comment can be written first.
set -euo pipefail

reports="$RUNNER_TEMP/lodestone-gate"
comment="$reports/comment.md"
rm -rf "$reports"
mkdir -p "$reports/sarif"

# A new branch has no commit before it: an empty tree.
case "$BASE" in
  "" | 0000000*) BASE=$(git hash-object -t tree /dev/null) ;;
  # What a checkout of one commit lacks.
  *) git cat-file -e "$BASE^{commit}" 2> /dev/null || git fetch --quiet --no-tags --depth=1 origin "$BASE" ;;
esac

# The patterns are words, so they are not quoted; git expands them.
files=()
set -f
# shellcheck disable=SC2086
while IFS= read -r -d '' file; do files+=("$file"); done < <(git ls-files -z -- $MODELS)
set +f
if [ "${#files[@]}" -eq 0 ]; then
  echo "::error::There is no file like: $MODELS"
  exit 2
fi

passed=true
# comment.sh finds its comment by this line.
echo '<!-- lodestone model gate -->' > "$comment"
for file in "${files[@]}"; do
  part="$reports/part.md"
  sarif="$reports/sarif/${file//\//-}.sarif"
  : > "$part"
  # The arguments are words, so they are not quoted.
  # shellcheck disable=SC2086
  "$LODESTONE" model gate $ARGUMENTS --markdown="$part" --sarif="$sarif" -- "$BASE:$file" "$file" || passed=false
  [ -s "$part" ] || printf '### ❌ `%s` could not be compared\n\nThe log of the job says why.\n' "$file" > "$part"
  { cat "$part"; echo; } >> "$comment"
done

cat "$comment" >> "$GITHUB_STEP_SUMMARY"
{ echo "passed=$passed"; echo "markdown=$comment"; echo "sarif=$reports/sarif"; } >> "$GITHUB_OUTPUT"
