import { afterAll, afterEach } from "vitest";
import { endFile, endTest } from "./ends.ts";
import { prepareLate } from "./prepared.ts";

prepareLate();
afterEach(endTest);
afterAll(endFile);
