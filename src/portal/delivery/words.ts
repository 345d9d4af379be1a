/** Words for deliveries and attempts. */
import type { Attempt, Delivery } from "../../client/operations.ts";
import { causeText } from "../../domain/deliveries/attempt.ts";
import type { Tone } from "../parts/status.tsx";

export function toneOf(status: Delivery["status"], attempts: number): Tone {
  switch (status) {
    case "delivered":
      return "good";
    case "failed":
      return "bad";
    case "pending":
      return attempts > 0 ? "warn" : "wait";
    case "held":
    case "cancelled":
    case "shadowed":
      return "off";
  }
}

export function wordOf(status: Delivery["status"], attempts: number): string {
  if (status === "pending") return attempts > 0 ? "Retrying" : "Pending";
  return `${status.charAt(0).toUpperCase()}${status.slice(1)}`;
}

/** Returns text such as "200 in time", "503 from the receiver" or "no answer in time". */
export function answerText({ outcome, status_code: code, error }: Attempt): string {
  if (outcome === "succeeded") return `${code} in time`;
  const text = causeText(error, code);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export function triggerText({ trigger, retry, round }: Attempt): string {
  switch (trigger) {
    case "test":
      return "test event";
    case "manual":
      return "attempt now";
    case "replay":
    case "ladder":
      if (retry === 0 || retry === null) return round === 1 ? "first attempt" : "replay";
      return `retry ${retry}`;
  }
}
