-- A claim no longer changes `next_at`, only `claimed_until` and `fence`, which no index holds: it
-- touches one page. What is claimed is passed over while its lease lasts.
drop index notification_claimed;
