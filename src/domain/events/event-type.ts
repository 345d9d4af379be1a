/** JSON Schema 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface EventType {
  readonly name: string;
  readonly description: string;
  /** Whether the specification fixes the data, or the sample is no more than an example. */
  readonly source: "specified" | "example";
  /** What `data` has to be; looked at only with `[events] validate`. */
  readonly schema: JsonSchema;
  /** The `data` of a test event. */
  readonly sample: Readonly<Record<string, unknown>>;
}
