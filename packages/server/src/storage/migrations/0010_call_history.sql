-- How many calls an instance has made within a span of time, all of them or those of one tool, and
-- what became of them, is counted from these indexes alone. What older programs write is in them.
-- compatible with: 9

create index request_tool_made on request
  (project_id, instance_id, substr(tool, 1, 200), created_at, status);

-- As request_instance, which it replaces.
create index request_made on request (project_id, instance_id, created_at, status);

drop index request_instance;
