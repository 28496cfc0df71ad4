-- Instances that workload identity created, and the tokens of the platform that they belong to.
-- An older program neither creates nor uses them. The key cascades, because an older program also
-- purges deleted instances.
-- compatible with: 34

create table workload_instance (
  project_id text not null,
  binding text not null, -- SHA-256 of rule, issuer and claims, base64url
  instance_id text not null,
  rule text not null,
  issuer text not null, -- the claim iss
  claims text not null, -- JSON text: the claims in the name, by path
  created_at bigint not null,
  primary key (project_id, binding),
  foreign key (project_id, instance_id) references instance (project_id, id) on delete cascade
);

create index workload_instance_of on workload_instance (project_id, instance_id);

-- Finds expired credentials to purge.
create index credential_expiring on credential (expires_at)
  where kind = 'instance' and expires_at is not null;
