import { describeSeeds } from "./seeds.ts";

describeSeeds(125, 250);
