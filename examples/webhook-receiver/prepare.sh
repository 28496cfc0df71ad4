#!/bin/sh
# Creates the files of a receiver for development, once: sh prepare.sh FOLDER
set -eu
umask 077
mkdir -p "$1"
cd "$1"
if [ ! -e tls-cert.pem ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
    -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout tls-key.pem -out tls-cert.pem
fi
if [ ! -e registrations.json ]; then
  id=$(node -p 'crypto.randomUUID()')
  secret=whsec_$(openssl rand -base64 32)
  url=https://localhost:8443/hook
  echo "{\"url\": \"$url\", \"registration_id\": \"$id\", \"signing_secret\": \"$secret\"}" \
    > delivery.json
  echo "{\"$id\": \"$secret\"}" > registrations.json
fi
