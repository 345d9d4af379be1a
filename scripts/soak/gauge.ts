/**
 * Measures a daemon's memory and write-ahead log in each of its processes, and the growth from one process to the next.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

interface Sample {
  readonly life: number;
  /** Minutes since the process started. */
  readonly minutes: number;
  readonly rss: number;
  readonly wal: number;
  readonly store: number;
}

export interface Growth {
  /** MiB per hour: the median of the slopes within processes, leaving out each one's first minute. */
  readonly slope: number | null;
  /** MiB: the maximum in the first third of the processes, and in the last third. */
  readonly first: number;
  readonly last: number;
  readonly walMax: number;
  readonly storeMax: number;
}

const MIB = 2 ** 20;
const WARM_MINUTES = 1;

export class Gauge {
  readonly #samples: Sample[] = [];

  /** Does nothing if the process is gone, or if there is no /proc. */
  sample(pid: number, data: string, life: number, minutes: number): void {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      const resident = /^VmRSS:\s+(\d+) kB/mu.exec(status)?.[1];
      // A process that was just killed has no memory left.
      if (resident === undefined) return;
      const rss = Number(resident) / 1024;
      const sizeOf = (name: string) => (statSync(join(data, name), { throwIfNoEntry: false })?.size ?? 0) / MIB;
      this.#samples.push({ life, minutes, rss, wal: sizeOf("webhookd.db-wal"), store: sizeOf("webhookd.db") });
    } catch {
      // Between two processes there is nothing to measure.
    }
  }

  growth(): Growth {
    const lives = [...Map.groupBy(this.#samples, ({ life }) => life).values()];
    const slopes = lives.flatMap((samples) => slopeOf(samples.filter(({ minutes }) => minutes >= WARM_MINUTES)) ?? []);
    const third = Math.max(1, Math.floor(lives.length / 3));
    return {
      slope: slopes.toSorted((a, b) => a - b)[slopes.length >> 1] ?? null,
      first: most(lives.slice(0, third).flat(), "rss"),
      last: most(lives.slice(-third).flat(), "rss"),
      walMax: most(this.#samples, "wal"),
      storeMax: most(this.#samples, "store"),
    };
  }
}

function most(samples: readonly Sample[], what: "rss" | "wal" | "store"): number {
  return samples.reduce((max, sample) => Math.max(max, sample[what]), 0);
}

/** Returns the slope by least squares, in MiB per hour. Null for fewer than ten samples. */
function slopeOf(samples: readonly Sample[]): number | null {
  if (samples.length < 10) return null;
  const mean = (pick: (sample: Sample) => number) => samples.reduce((sum, one) => sum + pick(one), 0) / samples.length;
  const at = mean(({ minutes }) => minutes);
  const rss = mean((sample) => sample.rss);
  const along = samples.reduce((sum, one) => sum + (one.minutes - at) * (one.rss - rss), 0);
  const across = samples.reduce((sum, one) => sum + (one.minutes - at) ** 2, 0);
  return (60 * along) / across;
}
