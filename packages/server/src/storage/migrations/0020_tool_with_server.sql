-- Earlier calls of a tool are counted by the name of the tool and of its server, from this index
-- alone. It replaces the index without the server. Older programs use its first columns.
-- compatible with: 19

drop index request_tool_made;

create index request_tool_made on request
  (project_id, instance_id, substr(tool, 1, 200), coalesce(substr(server, 1, 200), ''),
   created_at, status);
