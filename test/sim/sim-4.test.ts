import { describeSeeds } from "./seeds.ts";

describeSeeds(375, 500);
