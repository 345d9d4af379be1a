/**
 * Decides whether `webhook-signature` is valid for a request: entries `v1` by a secret, and `v1a` by a public key. If
 * none is, it tries the usual mistakes to find the cause.
 */
import { formsOf, no, withoutName, type Named, type Verdict } from "./judge.ts";
import { base64, decodedSecret, isHmacSecret, mac, unbase64, verifierOf } from "./signature.ts";
import { t } from "../language/text.ts";

const HEADER = "webhook-signature";
const VERSION = /^v\d\w?,/;
/** 64 bytes in base64. Nothing else that people paste here looks like this. */
const BARE = /^[A-Za-z0-9+/]{86}==$/;
const ED25519_BYTES = 64;

/** True for the value of `webhook-signature`, perhaps with the header's name, or for an entry without its version. */
export function isStandard(given: string): boolean {
  const text = given.trim();
  return /^webhook-signature:/i.test(text) || VERSION.test(text) || BARE.test(text);
}

export interface Request {
  readonly body: string;
  /** The event's id. Without it, the id is taken from the body. */
  readonly id?: string | undefined;
  /** The value of `webhook-timestamp`. Empty if it was not given. */
  readonly timestamp: string;
  /** The seconds at which attempts of this request began, if known. */
  readonly attempts: readonly number[];
  readonly secrets: readonly Named[];
  readonly publicKeys: readonly Named[];
}

/** An entry, ready to be compared. */
interface Entry {
  readonly by: string;
  fits(content: string): Promise<boolean>;
}

export async function judgeStandard(request: Request, given: string): Promise<Verdict> {
  const { body, timestamp, publicKeys } = request;
  const header = withoutName(given.trim(), HEADER).trim();
  if (BARE.test(header)) return no(t("judge.itsVersionIsMissing"), t("judge.anEntryOfWebhookSignature"));
  const texts = header.split(/\s+/);
  const formal = texts.map(formOf).find((fault) => fault !== null);
  if (formal) return formal;
  if (texts.every((text) => text.startsWith("v1a,")) && publicKeys.length === 0)
    return no(t("judge.thereIsNoPublicKey"), t("judge.chooseEd25519ForAnEndpoint"));
  const entries = (await Promise.all(texts.map((text) => entriesOf(text, request)))).flat();
  if (entries.length === 0) return no(t("judge.thisBrowserCannotCheckEd25519"), t("judge.useANewerBrowserOr"));
  const id = request.id ?? /"id"\s*:\s*"([^"]+)"/.exec(body)?.[1];
  if (id === undefined) return no(t("judge.theBodyHasNoId"), t("judge.pasteTheWholeBodyWhich"));
  const stamps = stampsOf(request);
  if (stamps.length === 0) return withoutTimestamp();
  const by = await firstFit(entries, stamps, (stamp) => `${id}.${stamp}.${body}`);
  if (by !== null) return { matches: true, by };
  return (await byMistake(request, { id, entries, stamps })) ?? (timestamp === "" ? withoutTimestamp() : unknown());
}

const withoutTimestamp = () => no(t("judge.itDoesNotMatchAt"), t("judge.pasteTheWebhookTimestampOf"));
const unknown = () => no(t("judge.itWasMadeWithAnother"), t("judge.takeWebhookSignatureWebhookTimestamp"));

/** Returns a verdict on an entry without needing a key, or null. */
function formOf(text: string): Verdict | null {
  if (!VERSION.test(text)) return no(t("judge.anEntryHasNoVersion"), t("judge.eachBeginsWithV1Or"));
  const [version = "", encoded = ""] = text.split(",");
  if (version !== "v1a") return null;
  if (/[-_]/.test(encoded)) return no(t("judge.itIsInBase64url"), t("judge.writeItInBase64With"));
  const length = unbase64(encoded)?.length;
  if (length === undefined) return no(t("judge.whatFollowsV1aIsNot"), t("judge.wasItCutOff"));
  if (length === ED25519_BYTES) return null;
  return no(t("judge.bytes", { length, right: ED25519_BYTES }), t("judge.wasItCutOff"));
}

/** Pairs an entry with every key that may have made it. Skips unknown versions. */
async function entriesOf(text: string, { secrets, publicKeys }: Request): Promise<readonly Entry[]> {
  const [version, encoded = ""] = text.split(",");
  if (version === "v1")
    return secrets
      .filter(({ key }) => isHmacSecret(key))
      .map(({ name, key }) => ({
        by: name,
        fits: async (content) => base64(await mac(decodedSecret(key) ?? key, content)) === encoded,
      }));
  if (version !== "v1a") return [];
  const made = publicKeys.map(async ({ name, key }): Promise<Entry | null> => {
    const verifies = await verifierOf(key);
    return verifies && { by: name, fits: (content) => verifies(unbase64(encoded)!, content) };
  });
  return (await Promise.all(made)).filter((entry) => entry !== null);
}

/** The sender may have signed in the second before or after the one that was recorded. */
function stampsOf({ timestamp, attempts }: Request): readonly string[] {
  if (timestamp !== "") return [timestamp];
  return [...new Set(attempts.flatMap((at) => [at, at - 1, at + 1]))].map(String);
}

/** Tries one time after the other, and names the keys that match at the first that fits. Null if none fits. */
async function firstFit(
  entries: readonly Entry[],
  stamps: readonly string[],
  contentOf: (stamp: string) => string,
): Promise<string | null> {
  for (const stamp of stamps) {
    const content = contentOf(stamp);
    const fitting = await Promise.all(entries.map(async ({ by, fits }) => ((await fits(content)) ? by : null)));
    const by = [...new Set(fitting.filter((one) => one !== null))];
    if (by.length > 0) return by.join(t("judge.and"));
  }
  return null;
}

interface Parsed {
  readonly id: string;
  readonly entries: readonly Entry[];
  readonly stamps: readonly string[];
}

async function byMistake(request: Request, { id, entries, stamps }: Parsed): Promise<Verdict | null> {
  const { body, timestamp, attempts } = request;
  const fits = (at: readonly string[], contentOf: (stamp: string) => string) => firstFit(entries, at, contentOf);
  if (/^\d{13}$/.test(timestamp) && (await fits([timestamp.slice(0, -3)], (stamp) => `${id}.${stamp}.${body}`)))
    return no(t("judge.theTimestampIsInMilliseconds"), t("judge.webhookTimestampCountsSeconds"));
  const times = timestamp === "" ? [] : stampsOf({ ...request, timestamp: "", attempts });
  for (const stamp of times)
    if (await fits([stamp], () => `${id}.${stamp}.${body}`))
      return no(t("judge.otherAttempt", { stamp }), t("judge.takeBothFromTheSame"));
  if (await fits(stamps, () => body))
    return no(t("judge.onlyTheBodyWasSigned"), t("judge.signWebhookIdWebhookTimestamp"));
  for (const [form, reason] of formsOf(body))
    if (await fits(stamps, (stamp) => `${id}.${stamp}.${form}`)) return no(reason, t("judge.verifyBytes"));
  return null;
}
