import { describe, expect, it } from "vitest";
import { Speedometer } from "../../../src/delivery/send/endpoint-queue.ts";
import { noResponse, type Outcome } from "../../../src/domain/deliveries/attempt.ts";

const answered = (durationMs: number): Outcome => ({
  ...noResponse("http_status", "", durationMs),
  outcome: "succeeded",
  error: null,
  statusCode: 200,
});

describe("a receiver's speed", () => {
  it("is fast while answers take about as long as the quickest of them", () => {
    const speedometer = new Speedometer();
    expect(speedometer.speedOf(answered(80), 0)).toBe("fast");
    expect(speedometer.speedOf(answered(160), 1)).toBe("fast");
    expect(speedometer.speedOf(answered(163), 2)).toBe("slow");
    expect(speedometer.speedOf(answered(20), 3)).toBe("fast");
    expect(speedometer.speedOf(answered(80), 4)).toBe("slow");
  });

  it("is slow above a second, however long the quickest answer takes", () => {
    const speedometer = new Speedometer();
    expect(speedometer.speedOf(answered(900), 0)).toBe("fast");
    expect(speedometer.speedOf(answered(1000), 1)).toBe("slow");
  });

  it("is slow for a refusal, however soon it comes", () => {
    expect(new Speedometer().speedOf({ ...answered(1), outcome: "failed", statusCode: 500 }, 0)).toBe("slow");
  });

  it("forgets a quickest answer that is two minutes old", () => {
    const speedometer = new Speedometer();
    speedometer.speedOf(answered(1), 0);
    expect(speedometer.speedOf(answered(100), 59_999)).toBe("slow");
    expect(speedometer.speedOf(answered(100), 60_000)).toBe("slow");
    expect(speedometer.speedOf(answered(100), 120_000)).toBe("fast");
  });

  it("is silent without an answer, and says nothing when the fault was ours", () => {
    const speedometer = new Speedometer();
    expect(speedometer.speedOf(noResponse("connection_refused", "", 0), 0)).toBe("silent");
    expect(speedometer.speedOf(noResponse("timeout", "", 10_000), 0)).toBe("silent");
    expect(speedometer.speedOf(noResponse("interrupted", "", 0, { ours: true }), 0)).toBe("unknown");
    expect(speedometer.speedOf(noResponse("payload_corrupt", "", 0), 0)).toBe("unknown");
  });
});
