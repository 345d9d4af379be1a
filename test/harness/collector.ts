import { gunzipSync } from "node:zlib";
import { closeAfter } from "./exchange.ts";
import { TestReceiver, type Answer } from "./receiver.ts";

/** A span as a collector gets it, whatever its encoding. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code: number; readonly message: string };
}

export interface Collected {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly spans: readonly CollectedSpan[];
}

/** A real OTLP receiver on a free port. It answers as the script says, and then 200. */
export class Collector {
  readonly receiver: TestReceiver;

  private constructor(receiver: TestReceiver) {
    this.receiver = receiver;
  }

  static async start(...script: Answer[]): Promise<Collector> {
    const receiver = await TestReceiver.start(script);
    closeAfter(() => receiver.close());
    return new Collector(receiver);
  }

  get url(): string {
    return new URL(this.receiver.url).origin;
  }

  /** Returns everything that has come so far. Throws if something else than OTLP came. */
  get collected(): Collected[] {
    return this.receiver.requests.flatMap(({ path, headers, body }) => {
      if (path !== "/v1/traces") throw new Error(`spans were sent to ${path}`);
      const bytes = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      if (headers["content-type"] === "application/json") return readJson(bytes.toString());
      if (headers["content-type"] === "application/x-protobuf") return readProtobuf(bytes);
      throw new Error(`spans were sent as ${headers["content-type"]}`);
    });
  }

  get spans(): CollectedSpan[] {
    return this.collected.flatMap(({ spans }) => spans);
  }
}

/** The JSON mapping of `ExportTraceServiceRequest`: ids in hex, 64-bit numbers as texts. */
function readJson(text: string): Collected[] {
  return JSON.parse(text).resourceSpans.map(({ resource, scopeSpans }: any) => ({
    resource: attributesOf(resource.attributes),
    spans: scopeSpans.flatMap(({ spans }: any) =>
      spans.map((span: any) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? "",
        traceState: span.traceState ?? "",
        name: span.name,
        kind: span.kind,
        from: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        to: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        attributes: attributesOf(span.attributes),
        status: { code: span.status.code ?? 0, message: span.status.message ?? "" },
      })),
    ),
  }));
}

function attributesOf(list: readonly { key: string; value: Record<string, unknown> }[]) {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, "intValue" in value ? Number(value.intValue) : Object.values(value)[0]]),
  );
}

type Field = bigint | Buffer;

/** The numbers of the fields are those of opentelemetry/proto/trace/v1/trace.proto. */
function readProtobuf(bytes: Buffer): Collected[] {
  return messages(bytes, 1).map((resourceSpans) => ({
    resource: keyValues(messages(messages(resourceSpans, 1)[0]!, 1)),
    spans: messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2).map(readSpan)),
  }));
}

function readSpan(bytes: Buffer): CollectedSpan {
  const fields = fieldsOf(bytes);
  const bytesOf = (number: number) => (fields.get(number)?.[0] ?? Buffer.alloc(0)) as Buffer;
  const ms = (number: number) => Number((fields.get(number)?.[0] as bigint) / 1_000_000n);
  const status = fieldsOf(bytesOf(15));
  return {
    traceId: bytesOf(1).toString("hex"),
    spanId: bytesOf(2).toString("hex"),
    traceState: bytesOf(3).toString(),
    parentSpanId: bytesOf(4).toString("hex"),
    name: bytesOf(5).toString(),
    kind: Number(fields.get(6)?.[0] ?? 0n),
    from: ms(7),
    to: ms(8),
    attributes: keyValues(messages(bytes, 9)),
    status: { code: Number(status.get(3)?.[0] ?? 0n), message: String(status.get(2)?.[0] ?? "") },
  };
}

function keyValues(pairs: readonly Buffer[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const fields = fieldsOf(pair);
      const value = fieldsOf(fields.get(2)![0] as Buffer);
      const [[number, [field]]] = [...value] as [[number, [Field]]];
      return [String(fields.get(1)![0]), number === 1 ? String(field) : number === 3 ? Number(field) : field];
    }),
  );
}

function messages(bytes: Buffer, number: number): Buffer[] {
  return (fieldsOf(bytes).get(number) ?? []) as Buffer[];
}

/** Reads the wire format: varints, 64-bit numbers, 32-bit numbers, and texts or messages with their length. */
function fieldsOf(bytes: Buffer): Map<number, Field[]> {
  const fields = new Map<number, Field[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number) => bytes.subarray(at, (at += length));
  while (at < bytes.length) {
    const tag = Number(varint());
    const read = [varint, () => take(8).readBigUInt64LE(), () => take(Number(varint()))][tag & 7];
    const field = read === undefined ? BigInt(take(4).readUInt32LE()) : read();
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), field]);
  }
  return fields;
}
