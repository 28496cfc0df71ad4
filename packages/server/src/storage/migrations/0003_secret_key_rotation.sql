-- Rotation of the secret key: `key_id` names the key that everything sealed is sealed with, or,
-- while a rotation is under way, was sealed with before it.

-- Keys the fingerprints of idempotent inputs, encrypted; the same for ever, so that replays are
-- recognised across rotations. Null until the first start after this migration: fingerprints
-- were made with a key derived from the secret key named here.
alter table secret_key add column sealed_fingerprint_key text;
