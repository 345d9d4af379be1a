import { describeSeeds } from "./seeds.ts";

describeSeeds(250, 375);
