import {
  type City,
  createOperatorClient,
  createRandom,
  makeCity,
  type PostBatch,
  type Random,
  readCity,
  type Simulation,
  startSimulation,
} from "@bikeshare/simulator";
import { afterEach, beforeEach, expect, it } from "vitest";
import { checkInvariants } from "../src/health/check/service.ts";
import { startTestApp, type TestApp } from "./app.ts";
import { until } from "./until.ts";
import { walkByCursor } from "./walk.ts";

/** Milliseconds of real time in each step, which are two minutes in the simulated city. */
const STEP_MS = 200;
/**
 * The least number of the 200 bikes that must be parked at stations. For bikes on rides, broken or collected ones, no state
 * is expected.
 */
const MIN_STANDING = 80;

let app: TestApp;
let operatorKey: string;
let partnerKey: string;
let city: City;

beforeEach(async () => {
  app = await startTestApp();
  operatorKey = (await app.issue({ partnerId: null, scopes: [] })).key;
  partnerKey = (await app.issue()).key;
  city = makeCity(createRandom(2), { stations: 12, bikes: 200 });
});
afterEach(() => app.close());

async function simulate(post: PostBatch, observed?: Awaited<ReturnType<typeof readCity>>): Promise<Simulation> {
  return startSimulation({
    city,
    seed: 2,
    speed: 600,
    clock: app.clock,
    post,
    newKey: () => app.ids.next("key"),
    observed,
  });
}

/**
 * Runs the simulation until `completed` rides have ended and enough bikes are parked for a comparison. Time advances only
 * when the service has answered everything.
 */
async function live(simulation: Simulation, completed: number): Promise<void> {
  await until(() => {
    if (simulation.figures().waiting === 0) app.clock.advance(STEP_MS);
    return simulation.figures().completed >= completed && simulation.standing().size > MIN_STANDING;
  }, 120_000).catch((error: unknown) => {
    const { reasons, completed: over } = simulation.figures();
    throw new Error(JSON.stringify([over, simulation.standing().size, ...reasons]), { cause: error });
  });
}

/** Simulates a network that loses requests and responses at random. */
function unreliable(post: PostBatch, random: Random): PostBatch {
  const lost = { kind: "retry", reason: "connection reset", afterMs: 0 } as const;
  return async (path, items, key) => {
    if (random.next() < 0.15) return lost;
    const answer = await post(path, items, key);
    return random.next() < 0.15 ? lost : answer;
  };
}

/** A connection that can be cut. `cut` waits for requests under way, so that none of them has an effect later. */
function cuttable(post: PostBatch): { readonly post: PostBatch; readonly cut: () => Promise<void> } {
  let isCut = false;
  const underWay = new Set<Promise<unknown>>();
  return {
    async post(...batch) {
      if (isCut) return { kind: "rejected", reason: "gone" };
      const answer = post(...batch);
      underWay.add(answer);
      return answer.finally(() => underWay.delete(answer));
    },
    async cut() {
      isCut = true;
      await Promise.allSettled(underWay);
    },
  };
}

async function mustBeAsBelieved(simulation: Simulation): Promise<void> {
  const checks = await checkInvariants(app.db, app.systemId);
  expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  const bikes = new Map((await walkByCursor(app, "/v1/bikes", 200)).map((bike) => [bike.id, bike]));
  // With fewer parked bikes, the comparison would prove little.
  expect(simulation.standing().size).toBeGreaterThan(MIN_STANDING);
  for (const [bikeId, station] of simulation.standing()) {
    expect(bikes.get(bikeId)).toMatchObject({ vehicle_state: "available", station_id: station.id });
  }
}

it("a city lives on a connection that loses requests and answers, and all is as its operator believes", async () => {
  const post = unreliable(createOperatorClient(app.url, operatorKey), createRandom(9));
  const simulation = await simulate(post);
  await live(simulation, 150);
  await simulation.stop();
  const figures = simulation.figures();
  expect(figures).toMatchObject({ riding: 0, waiting: 0, failures: 0 });
  expect(figures.retries).toBeGreaterThan(5);
  expect(figures.completed + figures.cancelled).toBe(figures.started);
  expect(await walkByCursor(app, "/v1/rides", 200)).toHaveLength(figures.started);
  await mustBeAsBelieved(simulation);
});

it("a second run goes on with the city as it stands, also after one that was cut off", async () => {
  const post = createOperatorClient(app.url, operatorKey);
  const cable = cuttable(post);
  const first = await simulate(cable.post);
  await live(first, 20);
  await until(async () => {
    app.clock.advance(STEP_MS);
    return (await walkByCursor(app, "/v1/rides?status=started", 200)).length > 0;
  });
  await cable.cut();
  const stations = await walkByCursor(app, "/v1/stations", 200);
  const second = await simulate(post, await readCity(app.url, partnerKey));
  expect((await walkByCursor(app, "/v1/stations", 200)).map(({ id }) => id)).toEqual(stations.map(({ id }) => id));
  await live(second, 50);
  await second.stop();
  expect(second.figures()).toMatchObject({ failures: 0, waiting: 0 });
  expect(await walkByCursor(app, "/v1/rides?status=started", 200)).toEqual([]);
  await mustBeAsBelieved(second);
  await first.stop();
});

it("a key that the service does not take ends the simulation before it begins, with the service's words", async () => {
  const post = createOperatorClient(app.url, partnerKey);
  await expect(simulate(post)).rejects.toThrow(/The service rejects the simulator's request: forbidden/);
});
