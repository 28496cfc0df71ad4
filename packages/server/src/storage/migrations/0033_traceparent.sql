-- The trace context in which a request was created (W3C Trace Context), so that its decision and its
-- deliveries belong to the same trace. Null without telemetry. The MAC of a request does not include
-- it. Older programs neither write nor read it.
-- compatible with: 30

alter table request add column traceparent text;
