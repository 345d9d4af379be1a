/** Everything that may happen at a moment of a run: each kind of trouble that the seed has, with its chance. */
import { DEADLY } from "./network.ts";
import type { Process } from "./process.ts";
import { BEHAVIOURS } from "./receiver.ts";
import type { World } from "./world.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

export function somethingHappens(world: World): void {
  const { endpoints, faults, kinds, random } = world;
  if (world.process === null) return;
  if (random.chance(0.6)) publish(world);
  if (kinds.crash && random.chance(0.03)) world.crash();
  if (kinds.disk && random.chance(0.1)) fillDisk(world);
  if (kinds.outages && random.chance(0.05)) {
    faults.cutOff = true;
    after(world, random.between(10, 20_000), () => (faults.cutOff = false));
  }
  if (kinds.shortages && random.chance(0.05)) {
    faults.short = true;
    after(world, random.between(10, 10_000), () => (faults.short = false));
  }
  if (kinds.pauses && world.process !== null && random.chance(0.1)) world.brake.toggle(world.process);
  if (kinds.threadDeaths && random.chance(0.1)) world.process?.killThread();
  if (kinds.clock && random.chance(0.03)) {
    world.clockSteps++;
    world.clock.step(random.pick([-1, 1]) * random.between(3000, 3_600_000));
  }
  if (kinds.receivers && random.chance(0.3)) {
    const receiver = random.pick([...endpoints.receivers.values()]);
    if (!endpoints.isDead(receiver.url)) receiver.behaviour = random.pick(BEHAVIOURS);
  }
  if (kinds.addresses && world.process !== null && world.ofAddresses.chance(0.2)) {
    world.addresses.touch(world.process, [...endpoints.receivers.keys()]);
  }
  operate(world);
}

/** Does what operators do. */
function operate(world: World): void {
  const { acked, endpoints, kinds, ofUpkeep, random } = world;
  if (kinds.operators && random.chance(0.1) && world.process !== null) lookAndReplay(world);
  if (kinds.holds && random.chance(0.1) && world.process !== null) {
    world.holds.toggle(world.process, random.pick([...endpoints.all.keys()]));
  }
  if (kinds.hands && world.process !== null && acked.length > 0) world.hands.touch(world.process, acked);
  if (kinds.rotations && random.chance(0.3) && world.process !== null) {
    const [id, { url }] = random.pick([...endpoints.all]);
    world.rotations.touch(world.process, id, endpoints.receivers.get(url)!.secrets);
  }
  if (kinds.deletions && world.process !== null && ofUpkeep.chance(0.05))
    endpoints.touch(world.process, ofUpkeep, kinds.choices ? world.ofChoices : null);
  if (kinds.choices && world.process !== null && world.ofChoices.chance(0.2)) chooseAnew(world, world.process);
  if (kinds.restores && world.process !== null && ofUpkeep.chance(0.1)) world.backups.make(world.process);
  if (kinds.jobs && world.process !== null && ofUpkeep.chance(0.15)) {
    world.bulk.touch(world.process, [...endpoints.all.keys()], acked);
  }
}

function chooseAnew({ endpoints, ofChoices, ownTypes }: World, process: Process): void {
  unawaited(ofChoices.chance(0.7) ? endpoints.choose(process, ofChoices) : ownTypes.touch(process));
}

/** Ends all troubles, and enables and resumes everything. */
export function heal(world: World): void {
  const { application, endpoints, faults, kinds } = world;
  faults.crashAtAwait = 0;
  Object.assign(faults.disk, { full: false, commits: 0, deaths: 0 });
  faults.unreadable = faults.cutOff = faults.short = false;
  for (const receiver of endpoints.receivers.values()) if (!endpoints.isDead(receiver.url)) receiver.behaviour = "ok";
  if (kinds.addresses) world.addresses.heal(world.process);
  if (kinds.shares) application.giveUp();
  enableAll(world);
  if (kinds.jobs) resumeJobs(world, 5);
}

/** Resumes several times, because the first may be refused, and canaries may fail in the meantime. */
function resumeJobs(world: World, times: number): void {
  if (world.process !== null) unawaited(world.bulk.resumeAll(world.process));
  if (times > 1) after(world, 2000, () => resumeJobs(world, times - 1));
}

/** Enables again and again, because a process that dies does not respond. */
function enableAll(world: World): void {
  const { brake, endpoints, holds, process } = world;
  const disabled = [...endpoints.all.keys()].filter((endpoint) => !holds.isOpen(endpoint));
  if (disabled.length === 0 && brake.isOff) return;
  if (process !== null && !brake.isOff) unawaited(brake.resume(process));
  if (process !== null) for (const endpoint of disabled) holds.enable(process, endpoint);
  after(world, 1000, () => enableAll(world));
}

function fillDisk(world: World): void {
  const { faults, random } = world;
  faults.disk.full = true;
  // A full disk may come with reads that fail.
  faults.unreadable = random.chance(0.5);
  world.diskWasFull = true;
  after(world, random.between(10, 5000), () => {
    faults.disk.full = faults.unreadable = false;
  });
}

function publish(world: World): void {
  const { kinds, random } = world;
  const burst = random.chance(0.2) ? random.between(2, kinds.bursts ? 100 : 20) : 1;
  world.application.publish(burst, poison(world));
}

/** Returns the mark of an event that kills every process that sends it. A deadly run has one such event. */
function poison(world: World): string {
  if (!world.kinds.deadly || world.poisoned || world.clock.monotonic < 5000) return "";
  world.poisoned = true;
  return `,${DEADLY}`;
}

function lookAndReplay(world: World): void {
  const { acked, kinds, random, watch } = world;
  if (acked.length === 0) return;
  // So far hardly anything has failed for good, but delivered events may be replayed.
  if (random.chance(0.8)) world.replay(random.pick(acked).id, { force: true });
  const { id } = random.pick(acked);
  // The replay may have ended the event. Jobs replay too, at unknown times.
  if (kinds.jobs) return;
  world.process?.store.reads.getEvent(null, id).then(
    (event) => event !== null && watch.saw(event),
    () => {},
  );
}

function after(world: World, ms: number, run: () => void): void {
  world.clock.at(world.clock.monotonic + ms, run);
}
