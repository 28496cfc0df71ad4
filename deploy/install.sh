#!/bin/sh
# Install what the server needs into this checkout, and nothing else. Needs Node 24 with npm and the
# npm registry. The container image and the systemd recipe both run this script.
set -eu
cd "$(dirname "$0")/.."

# The build needs development dependencies, which the last step removes again.
npm ci --workspace packages/console --workspace packages/agent-hooks --include=dev --ignore-scripts \
  --no-audit --no-fund
npm run build

# An optional peer of the SDK that is also a development dependency counts as optional.
npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund
