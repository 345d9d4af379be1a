import type { Operation } from "../operation.ts";
import { someStatistics, Statistics } from "../schemas/statistics.ts";

export const getStatistics: Operation = {
  id: "getStatistics",
  tag: "Deliveries",
  summary: "Read counts, rates and latencies of the last minutes, hours or days",
  description:
    "By the minute in which something was recorded. Test events are not counted. A crash forgets what was counted in " +
    "its last second.",
  replies: { 200: { description: "What was counted.", schema: Statistics, example: someStatistics } },
  problems: ["not_found"],
};
