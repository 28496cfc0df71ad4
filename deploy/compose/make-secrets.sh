#!/bin/sh
# Makes the secrets of compose.yaml, once: a password of the database and the key that seals stored
# credentials. Keep a copy of secrets/countersign.yaml at another place than backups of the database:
# without its secret_key they cannot be used.
set -eu
cd "$(dirname "$0")"

if [ -e secrets/countersign.yaml ] || [ -e secrets/postgres_password ]; then
  echo "secrets/ holds secrets already; nothing was changed" >&2
  exit 1
fi
mkdir -p secrets
# Only you enter the folder. The files are readable within it, because the server in its container
# is another user and compose mounts files as they are.
chmod 700 secrets
password=$(openssl rand -hex 24)
key=$(openssl rand -base64 32)
printf '%s' "$password" > secrets/postgres_password
cat > secrets/countersign.yaml <<YAML
database_url: postgres://countersign:$password@postgres:5432/countersign
secret_key: $key
YAML
chmod 644 secrets/postgres_password secrets/countersign.yaml
echo "made secrets/postgres_password and secrets/countersign.yaml"
