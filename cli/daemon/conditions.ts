/** The conditions of `--fail-on`. If one is met, `status` exits with a failure although the daemon is well. */
import { nearest } from "../../src/domain/nearest.ts";
import { usage } from "../failure.ts";
import { readCount, readDuration } from "../values.ts";
import { count, span } from "../output/words.ts";
import type { Health, Seen } from "./health.ts";

export interface Condition {
  /** The condition as it was typed. */
  readonly name: string;
  /** The part of the health that the condition needs, or null. */
  readonly needs: keyof Health | null;
  /** Returns a description of the problem if the condition is met, else null. */
  readonly met: (seen: Seen, now: number) => string | null;
}

const FORMS = ["failing", "damaged", "backlog>1000", "oldest>10m"];

export function readConditions(text: string): Condition[] {
  return text.split(",").map((word) => {
    const name = word.trim();
    const [, noun, limit] = /^(backlog|oldest)>(.+)$/.exec(name) ?? [];
    if (name === "failing") return failing(name);
    if (name === "damaged") return damaged(name);
    if (noun === "backlog") return backlog(name, readCount(limit!, "--fail-on backlog>", { min: 0, max: 999_999_999 }));
    if (noun === "oldest") return oldest(name, readDuration(limit!, "--fail-on oldest>"));
    const near = nearest(name, FORMS);
    const hint = near === null ? `It takes ${FORMS.join(", ")}.` : `Did you mean ${near}?`;
    throw usage(`--fail-on does not take "${name}"`, hint);
  });
}

function failing(name: string): Condition {
  const met = ({ failing }: Seen) =>
    failing!.length === 0 ? null : failing!.map(({ endpoint }) => `${endpoint} is failing`).join(", ");
  return { name, needs: "failing", met };
}

function damaged(name: string): Condition {
  const met = ({ damaged_endpoints: found }: Partial<Seen>) =>
    (found?.total ?? 0) === 0 ? null : found!.endpoints.map(({ endpoint }) => `${endpoint} is damaged`).join(", ");
  return { name, needs: null, met };
}

function backlog(name: string, limit: number): Condition {
  const met = ({ deliveries }: Seen) => {
    // In its first half second the daemon has not counted yet.
    if (!deliveries) return null;
    return deliveries.pending > limit
      ? count(deliveries.pending, "delivery is waiting", "deliveries are waiting")
      : null;
  };
  return { name, needs: null, met };
}

function oldest(name: string, limitMs: number): Condition {
  const met = ({ oldest_due_at: at }: Seen, now: number) => {
    const ageMs = at === null ? 0 : now - Date.parse(at);
    return ageMs > limitMs ? `the oldest delivery has been due for ${span(ageMs / 1000)}` : null;
  };
  return { name, needs: null, met };
}
