import { twoNodes } from "./node-faults.ts";

twoNodes({ moves: 3 }, 300);
