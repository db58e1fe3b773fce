#!/usr/bin/env bash
# `holdfast @COMMAND@` in @PARTS@ parts by GNU parallel, and the report that is merged from them.
#
# A part that ends without a verdict is tried again, @RETRIES@ times at most, and goes on where it stopped. From the environment:
#
#   HOLDFAST           the program [holdfast]
#   HOLDFAST_OUT       the parts' folder, which every machine sees [@OUT@]
#   HOLDFAST_REPORT    the report's folder [@REPORT@]
#   HOLDFAST_JOBS      parts at a time on each machine; each of them uses all cores [1]
#   HOLDFAST_PARALLEL  more options, as "--sshloginfile machines --workdir ."
set -euo pipefail

holdfast=${HOLDFAST:-holdfast}
out=${HOLDFAST_OUT:-@OUT@}

# 1 is a verdict. The words are quoted for the shell of each machine.
command=$(cat <<'END'
@COMMAND@ @OPTIONS@--partition {}/@PARTS@ --out
END
)
# Several words.
# shellcheck disable=SC2086
seq @PARTS@ | parallel --jobs "${HOLDFAST_JOBS:-1}" --retries $((@RETRIES@ + 1)) ${HOLDFAST_PARALLEL:-} \
  "$(printf %q "$holdfast") $command $(printf %q "$out") || [ \$? -eq 1 ]" ||
  echo "some parts did not end with a verdict" >&2

exec "$holdfast" merge "$out" --out "${HOLDFAST_REPORT:-@REPORT@}"
