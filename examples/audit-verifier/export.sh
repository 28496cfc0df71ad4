#!/bin/sh
# Exports the audit log and its public key from the data folder of a server.
set -eu
export COUNTERSIGN_DATA="${COUNTERSIGN_DATA:-../../data}"
countersign audit key > log.key
countersign audit export --out log.jsonl
