import { afterAll, afterEach } from "vitest";
import { endFile, endTest } from "./ends.ts";

afterEach(endTest);
afterAll(endFile);
