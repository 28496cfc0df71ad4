/**
 * Reads OTLP export requests in the binary encoding as the same objects that their JSON encoding
 * has. The field numbers are those of opentelemetry-proto 1.
 *
 * @see https://github.com/open-telemetry/opentelemetry-proto
 */

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

type Scalar = "string" | "hex" | "enum" | "bool" | "int64" | "fixed64" | "double";

interface Field {
  readonly name: string;
  readonly type: Scalar | (() => Message);
  readonly isList: boolean;
}

type Message = Readonly<Record<number, Field>>;

function one(name: string, type: Field["type"]): Field {
  return { name, type, isList: false };
}

function list(name: string, type: Field["type"]): Field {
  return { name, type, isList: true };
}

const ANY_VALUE: Message = {
  1: one("stringValue", "string"),
  2: one("boolValue", "bool"),
  3: one("intValue", "int64"),
  4: one("doubleValue", "double"),
  5: one("arrayValue", () => ({ 1: list("values", () => ANY_VALUE) })),
};
const KEY_VALUE: Message = { 1: one("key", "string"), 2: one("value", () => ANY_VALUE) };
const RESOURCE: Message = { 1: list("attributes", () => KEY_VALUE) };
const LINK: Message = { 1: one("traceId", "hex"), 2: one("spanId", "hex") };
const STATUS: Message = { 3: one("code", "enum") };
const SPAN: Message = {
  1: one("traceId", "hex"),
  2: one("spanId", "hex"),
  4: one("parentSpanId", "hex"),
  5: one("name", "string"),
  6: one("kind", "enum"),
  7: one("startTimeUnixNano", "fixed64"),
  8: one("endTimeUnixNano", "fixed64"),
  9: list("attributes", () => KEY_VALUE),
  13: list("links", () => LINK),
  15: one("status", () => STATUS),
};
const SCOPE_SPANS: Message = { 2: list("spans", () => SPAN) };
const RESOURCE_SPANS: Message = {
  1: one("resource", () => RESOURCE),
  2: list("scopeSpans", () => SCOPE_SPANS),
};

const NUMBER_POINT: Message = {
  4: one("asDouble", "double"),
  7: list("attributes", () => KEY_VALUE),
};
const HISTOGRAM_POINT: Message = {
  4: one("count", "fixed64"),
  5: one("sum", "double"),
  6: list("bucketCounts", "fixed64"),
  7: list("explicitBounds", "double"),
  9: list("attributes", () => KEY_VALUE),
};
const METRIC: Message = {
  1: one("name", "string"),
  3: one("unit", "string"),
  5: one("gauge", () => ({ 1: list("dataPoints", () => NUMBER_POINT) })),
  7: one("sum", () => ({
    1: list("dataPoints", () => NUMBER_POINT),
    2: one("aggregationTemporality", "enum"),
    3: one("isMonotonic", "bool"),
  })),
  9: one("histogram", () => ({ 1: list("dataPoints", () => HISTOGRAM_POINT) })),
};
const SCOPE_METRICS: Message = { 2: list("metrics", () => METRIC) };
const RESOURCE_METRICS: Message = {
  1: one("resource", () => RESOURCE),
  2: list("scopeMetrics", () => SCOPE_METRICS),
};

const EXPORTS: Readonly<Record<string, Message>> = {
  "/v1/traces": { 1: list("resourceSpans", () => RESOURCE_SPANS) },
  "/v1/metrics": { 1: list("resourceMetrics", () => RESOURCE_METRICS) },
};

/** @param path of the export, such as `/v1/traces` */
export function readExport(path: string, bytes: Uint8Array): unknown {
  const message = EXPORTS[path];
  if (message === undefined) throw new Error(`${path} is not a path of OTLP`);
  const reader = new BinaryReader(bytes);
  return readMessage(reader, message, reader.len);
}

function readMessage(reader: BinaryReader, message: Message, end: number): unknown {
  const read: Record<string, unknown> = {};
  while (reader.pos < end) {
    const [number, wireType] = reader.tag();
    const field = message[number];
    if (field === undefined) {
      reader.skip(wireType, number);
      continue;
    }
    const values = readField(reader, field, wireType);
    const before = (read[field.name] as unknown[] | undefined) ?? [];
    read[field.name] = field.isList ? [...before, ...values] : values[0];
  }
  return read;
}

function readField(reader: BinaryReader, { type }: Field, wireType: WireType): unknown[] {
  if (typeof type === "function") {
    const length = reader.uint32();
    return [readMessage(reader, type(), reader.pos + length)];
  }
  const isPacked = wireType === WireType.LengthDelimited && type !== "string" && type !== "hex";
  if (!isPacked) return [readScalar(reader, type)];
  const end = reader.uint32() + reader.pos;
  const values: unknown[] = [];
  while (reader.pos < end) values.push(readScalar(reader, type));
  return values;
}

function readScalar(reader: BinaryReader, type: Scalar): unknown {
  switch (type) {
    case "string":
      return reader.string();
    case "hex":
      return Buffer.from(reader.bytes()).toString("hex");
    case "enum":
      return reader.int32();
    case "bool":
      return reader.bool();
    case "int64":
      return String(reader.int64());
    case "fixed64":
      return String(reader.fixed64());
    case "double":
      return reader.double();
  }
}
