import { DELIVERY } from "./delivery.ts";
import { EDGES } from "./edges.ts";
import type { Mutant } from "./mutant.ts";
import { NODES } from "./nodes.ts";
import { ORDERING } from "./ordering.ts";
import { OUTBOX } from "./outbox.ts";
import { RECOVERY } from "./recovery.ts";
import { STORE } from "./store.ts";

export const MUTANTS: readonly Mutant[] = [
  ...STORE,
  ...RECOVERY,
  ...DELIVERY,
  ...EDGES,
  ...NODES,
  ...ORDERING,
  ...OUTBOX,
];
