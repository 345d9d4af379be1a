/** A row of the advice, and the commands that it may name. */

/** Whose fault it most likely is. */
export type Blame = "the receiver" | "the network between" | "this host" | "the settings here";

export interface Row {
  /** `passing` may heal by itself, so that retries help; `standing` heals only if someone acts. */
  readonly kind: "passing" | "standing";
  readonly blame: Blame;
  readonly meaning: string;
  /** What the people who run the receiver must do. */
  readonly receiver: string;
  /** What to type here, the most useful first. */
  readonly type: readonly CommandKey[];
  /** What to tell the customer. */
  readonly customer: string;
}

export interface Subject {
  readonly endpoint: string;
  /** Null where its id is not known. */
  readonly attempt: string | null;
}

export type CommandKey = keyof typeof COMMANDS;

/** Each with what it is for. */
export const COMMANDS = {
  answer: [
    "see what came back",
    ({ endpoint, attempt }: Subject) =>
      attempt === null
        ? `webhookd attempts list ${endpoint} --outcome failed --limit 1`
        : `webhookd attempts show ${attempt}`,
  ],
  check: ["check its DNS and TLS", ({ endpoint }: Subject) => `webhookd doctor --endpoint ${endpoint}`],
  test: ["once it is fixed", ({ endpoint }: Subject) => `webhookd endpoints test ${endpoint}`],
  secret: ["compare the secret", ({ endpoint }: Subject) => `webhookd endpoints secret ${endpoint}`],
  rate: ["send more slowly", ({ endpoint }: Subject) => `webhookd endpoints update ${endpoint} --rate 5`],
  fewer: ["send less at a time", ({ endpoint }: Subject) => `webhookd endpoints update ${endpoint} --max-in-flight 4`],
  move: ["set a new URL", ({ endpoint }: Subject) => `webhookd endpoints update ${endpoint} --to https://…`],
  hold: ["hold its events", ({ endpoint }: Subject) => `webhookd endpoints disable ${endpoint} --hold`],
  skip: ["stop sending to it", ({ endpoint }: Subject) => `webhookd endpoints disable ${endpoint} --skip`],
  enable: ["send what is held", ({ endpoint }: Subject) => `webhookd endpoints enable ${endpoint}`],
  settings: ["see the settings", () => "webhookd config show"],
  host: ["check this host", () => "webhookd doctor"],
  store: ["check the store", () => "webhookd doctor --offline"],
  status: ["see how the daemon is", () => "webhookd status"],
} as const;
