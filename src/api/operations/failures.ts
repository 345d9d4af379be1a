import type { Operation } from "../operation.ts";
import { Failures, someFailures } from "../schemas/failure.ts";

export const listFailures: Operation = {
  id: "listFailures",
  tag: "Deliveries",
  summary: "See what does not arrive, grouped by endpoint and cause",
  description:
    "Each delivery that has failed, or has failed and is tried again, counts in the group of its last attempt. What has " +
    "arrived, was cancelled or was a test is left out.",
  replies: { 200: { description: "The groups.", schema: Failures, example: someFailures } },
  problems: ["not_found"],
};
