/** How long the API's requests took, by route and status. */
import { Histogram } from "../domain/tally.ts";

const BOUNDS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000];

export class RequestTimes {
  /** By route, then by status. */
  readonly all = new Map<string, Map<number, Histogram>>();

  took(route: string, status: number, ms: number): void {
    let ofRoute = this.all.get(route);
    if (ofRoute === undefined) this.all.set(route, (ofRoute = new Map()));
    let times = ofRoute.get(status);
    if (times === undefined) ofRoute.set(status, (times = new Histogram(BOUNDS_MS)));
    times.add(ms);
  }
}
