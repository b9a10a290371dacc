import {
  type City,
  type CityBike,
  type CityRide,
  type CityStation,
  centralityOf,
  HOURLY_WEIGHTS,
  randomRider,
  riddenMetres,
} from "./city.ts";
import type { Random } from "./random.ts";

/*
 * Makes up the past of a city: rides of many days, and the bikes at each station at any time. It fills a demo city, which
 * the simulation then continues, and the database of a load test.
 */

/** How much past is made, and up to when. */
export interface HistoryOptions {
  /** Maximum rides in total. Their number differs from day to day. */
  readonly rides: number;
  readonly days: number;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How far the city's clocks are ahead of UTC. */
  readonly offsetMs?: number;
  /** Called for each change of a station, in the order of the changes' times. */
  readonly onChange?: (change: StationChange) => void;
}

/** The bikes at a station from an instant on. */
export interface StationChange {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly station: CityStation;
  readonly bikes: number;
  /** How many of the bikes are e-bikes. */
  readonly ebikes: number;
  readonly isOffline: boolean;
}

/** The past of a city. */
export interface CityHistory {
  /** The rides that are over, in the order in which they started. */
  readonly rides: readonly CityRide[];
  /** The rides that have started and will end. */
  readonly underWay: readonly RideUnderWay[];
  /** The station of each bike that is not on a ride. */
  readonly standing: ReadonlyMap<CityBike, CityStation>;
}

/** A ride that has started, and where it will end. */
export interface RideUnderWay extends CityRide {
  readonly to: CityStation;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** How many rides start in each hour of a Saturday or Sunday: people sleep in, and ride for fun. */
const WEEKEND_WEIGHTS = [6, 5, 3, 2, 1, 1, 3, 6, 11, 18, 25, 30, 32, 33, 33, 31, 29, 26, 22, 17, 13, 10, 9, 8] as const;
/** Rides of a Saturday or Sunday, relative to a working day. */
const WEEKEND_SHARE = 0.7;
/** The factor by which the weather changes a day's rides. */
const WEATHER = { least: 0.75, most: 1.15 };
/** How many random stations are looked at for the start, or the end, of a ride. */
const STATIONS_LOOKED_AT = 12;
/** The hour of the day, in the city's time, at which vans have moved bikes. */
const VANS_HOUR = 3;
/** At night vans take bikes from stations fuller than `full` to stations emptier than `empty`, up or down to `middle`. */
const UNBALANCED = { full: 0.75, empty: 0.25, middle: 0.5 };
/** Share of the rides of the morning's rush hours that end at the most central station, so that it is full every morning. */
const TO_THE_VERY_MIDDLE = 0.03;
/** Share of all rides that end outside a station. */
const OUTSIDE = 0.01;
/** Every few days one station is without power from one hour to another. */
const OUTAGE = { everyDays: 4, from: 13, until: 16 };

/** A station and its bikes while the history is made. */
interface Place {
  readonly station: CityStation;
  /** 0 at the city's edge, 1 in its centre. */
  readonly centrality: number;
  readonly bikes: CityBike[];
  /** The number of bikes that are on their way to the station. */
  coming: number;
  isOffline: boolean;
}

/** The end of a ride: its bike is at its station from then on. */
interface Arrival {
  readonly at: number;
  readonly bike: CityBike;
  readonly place: Place;
}

/**
 * Makes the history of a city up to `now`: rush hours into the centre and out of it, weekends, vans at night, and now and
 * then a station without power. Each ride starts where its bike stands, and a bike is on one ride at a time.
 */
export function makeHistory(city: City, random: Random, options: HistoryOptions): CityHistory {
  const { now, offsetMs = 0 } = options;
  // Midnight of the first day, in the city's time.
  const firstDay = Math.floor((now + offsetMs) / DAY_MS) * DAY_MS - offsetMs - (options.days - 1) * DAY_MS;
  const past = new Past(city, random, options);
  past.begin(firstDay);
  for (const hour of hoursOf(random, firstDay, options)) past.makeHour(hour);
  past.arriveUntil(now);
  const kept = past.rides
    .slice(-options.rides)
    .map((ride, index): CityRide => ({ ...ride, id: `ride-${String(index + 1).padStart(6, "0")}` }));
  return {
    rides: kept.filter(({ endedAt }) => endedAt <= now),
    underWay: kept.flatMap((ride) => (ride.endedAt > now && ride.to !== undefined ? [{ ...ride, to: ride.to }] : [])),
    standing: past.standing(),
  };
}

/** Makes the history of a city, hour by hour. */
class Past {
  readonly rides: Omit<CityRide, "id">[] = [];
  readonly #random: Random;
  readonly #options: HistoryOptions;
  readonly #places: readonly Place[];
  readonly #middle: Place | undefined;
  readonly #arrivals = createArrivals();

  constructor(city: City, random: Random, options: HistoryOptions) {
    this.#random = random;
    this.#options = options;
    this.#places = placesOf(city, random);
    // The most central station.
    this.#middle = this.#places.toSorted((a, b) => b.centrality - a.centrality)[0];
  }

  /** Reports the first state of every station. */
  begin(at: number): void {
    for (const place of this.#places) this.#report(place, at);
  }

  /** Makes one hour. Call it for each hour, in their order. */
  makeHour({ start, day, hour, isWeekend, rides }: HourOfHistory): void {
    this.arriveUntil(start);
    if (hour === VANS_HOUR) for (const place of driveVans(this.#places)) this.#report(place, start);
    const outage = outageAt(this.#places, day, hour);
    if (outage !== undefined) {
      outage.place.isOffline = outage.begins;
      this.#report(outage.place, start);
    }
    const length = Math.min(HOUR_MS, this.#options.now - start);
    const instants = Array.from({ length: rides }, () => start + this.#random.between(0, length - 1));
    for (const startedAt of instants.sort((a, b) => a - b)) {
      this.arriveUntil(startedAt);
      this.#ride(startedAt, isWeekend ? 0 : pullOf(hour));
    }
  }

  /** Lets the bikes arrive whose rides end up to `instant`. */
  arriveUntil(instant: number): void {
    for (let next = this.#arrivals.takeUntil(instant); next; next = this.#arrivals.takeUntil(instant)) {
      next.place.coming--;
      next.place.bikes.push(next.bike);
      this.#report(next.place, next.at);
    }
  }

  standing(): ReadonlyMap<CityBike, CityStation> {
    return new Map(this.#places.flatMap(({ station, bikes }) => bikes.map((bike) => [bike, station] as const)));
  }

  /** Makes one ride, if there is a bike and a free dock. @param pull 1: into the centre; -1: out of it; 0: anywhere */
  #ride(startedAt: number, pull: number): void {
    const random = this.#random;
    // A ride into the centre starts nearer to the edge, and ends nearer to the centre.
    const from = find(this.#places, random, pull, ({ bikes, isOffline }) => bikes.length > 0 && !isOffline);
    const isFree = (place: Place | undefined) =>
      place !== undefined && place !== from && hasRoom(place) && !place.isOffline;
    const isToMiddle = pull > 0 && random.next() < TO_THE_VERY_MIDDLE && isFree(this.#middle);
    const to = isToMiddle ? this.#middle : find(this.#places, random, -pull, isFree);
    const bike = from?.bikes[0];
    if (from === undefined || to === undefined || bike === undefined) return;
    const distanceMeters = riddenMetres(random, from.station, to.station);
    const metresPerSecond = (bike.isElectric ? 5 : 4) * (0.7 + 0.5 * random.next());
    // A ride takes longer than its distance needs.
    const extraMs = random.between(20, 240) * 1000;
    const endedAt = startedAt + Math.round((distanceMeters / metresPerSecond) * 1000) + extraMs;
    from.bikes.shift();
    this.#report(from, startedAt);
    to.coming++;
    this.#arrivals.add({ at: endedAt, bike, place: to });
    // A bike that is left outside a station is brought to a station: here, to the station where its rider was going.
    // A ride that is still under way has its station, because the simulation ends it there.
    const isOutside = random.next() < OUTSIDE && endedAt <= this.#options.now;
    const ended = isOutside ? undefined : to.station;
    const riderCategory = randomRider(random);
    this.rides.push({ bike, from: from.station, to: ended, startedAt, endedAt, distanceMeters, riderCategory });
  }

  /** Reports the present state of a station as a change. */
  #report({ station, bikes, isOffline }: Place, at: number): void {
    // A function, because it is called only if there is an `onChange`: `?.` evaluates its arguments only then.
    const ebikes = () => bikes.reduce((count, { isElectric }) => count + Number(isElectric), 0);
    this.#options.onChange?.({ at, station, bikes: bikes.length, ebikes: ebikes(), isOffline });
  }
}

/** Puts all bikes at stations, so that the stations are about equally full. */
function placesOf(city: City, random: Random): Place[] {
  const places = city.stations.map((station): Place => ({
    station,
    centrality: centralityOf(station),
    bikes: [],
    coming: 0,
    isOffline: false,
  }));
  const docks = places.reduce((sum, { station }) => sum + station.capacity, 0);
  const share = city.bikes.length / docks;
  let next = 0;
  for (const place of places) {
    const count = Math.round(place.station.capacity * share * (0.7 + 0.6 * random.next()));
    place.bikes.push(...city.bikes.slice(next, next + count));
    next += count;
  }
  // The bikes that are left over by chance and by rounding, one for each station in turn.
  for (let index = 0; next < city.bikes.length; index++, next++) {
    const bike = city.bikes[next];
    if (bike !== undefined) places[index % places.length]?.bikes.push(bike);
  }
  return places;
}

interface HourOfHistory {
  /** Milliseconds since 1970. */
  readonly start: number;
  /** The number of the day, counted from 0. */
  readonly day: number;
  readonly hour: number;
  readonly isWeekend: boolean;
  readonly rides: number;
}

/** Returns the hours from the first day to `now`, with how many rides start in each. */
function hoursOf(
  random: Random,
  firstDay: number,
  { rides, days, now, offsetMs = 0 }: HistoryOptions,
): HourOfHistory[] {
  const hours = Array.from({ length: days }, (_, day) => {
    const start = firstDay + day * DAY_MS;
    const isWeekend = [0, 6].includes(new Date(start + offsetMs).getUTCDay());
    const weights = isWeekend ? WEEKEND_WEIGHTS : HOURLY_WEIGHTS;
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const weather = WEATHER.least + (WEATHER.most - WEATHER.least) * random.next();
    const ofDay = (isWeekend ? WEEKEND_SHARE : 1) * weather;
    return weights.map((weight, hour) => {
      const hourStart = start + hour * HOUR_MS;
      // The part of the hour that is over: less than 1 for the present hour.
      const passed = Math.min(1, Math.max(0, (now - hourStart) / HOUR_MS));
      return { start: hourStart, day, hour, isWeekend, weight: (weight / total) * ofDay * passed };
    });
  }).flat();
  const total = hours.reduce((sum, { weight }) => sum + weight, 0);
  // Fractions of rides are carried over to the next hour.
  let due = 0;
  return hours
    .filter(({ weight }) => weight > 0)
    .map(({ weight, ...hour }) => {
      due += (weight / total) * rides;
      const started = Math.floor(due);
      due -= started;
      return { ...hour, rides: started };
    });
}

/** Returns 1 if people ride into the centre at this hour of a working day, -1 if they ride out of it, otherwise 0. */
function pullOf(hour: number): number {
  if (hour >= 6 && hour <= 9) return 1;
  return hour >= 15 && hour <= 19 ? -1 : 0;
}

/**
 * Returns one of some random stations that suit; undefined if none of them does.
 * @param outward -1 prefers stations in the centre, 1 those at the edge
 */
function find(
  places: readonly Place[],
  random: Random,
  outward: number,
  suits: (place: Place) => boolean,
): Place | undefined {
  let last: Place | undefined;
  for (let looked = 0; looked < STATIONS_LOOKED_AT; looked++) {
    const place = places[Math.floor(random.next() * places.length)];
    if (place === undefined || !suits(place)) continue;
    last = place;
    // With a direction, up to 0.45 more for the preferred stations, and up to 0.45 less for the others.
    const likelihood = 0.55 + outward * (0.5 - place.centrality) * 0.9;
    if (random.next() < likelihood) return place;
  }
  return last;
}

function hasRoom({ station, bikes, coming }: Place): boolean {
  return bikes.length + coming < station.capacity;
}

/** Moves bikes from stations that are too full to those that are too empty. @returns the stations that changed */
function driveVans(places: readonly Place[]): Set<Place> {
  const fill = ({ station, bikes, coming }: Place) => (bikes.length + coming) / station.capacity;
  const byFill = places.toSorted((a, b) => fill(a) - fill(b));
  const empty = byFill.filter((place) => fill(place) < UNBALANCED.empty);
  const full = byFill.filter((place) => fill(place) > UNBALANCED.full).reverse();
  const changed = new Set<Place>();
  for (const to of empty) {
    for (const from of full) {
      while (fill(to) < UNBALANCED.middle && fill(from) > UNBALANCED.middle) {
        const bike = from.bikes.pop();
        if (bike === undefined) break;
        to.bikes.push(bike);
        changed.add(from).add(to);
      }
    }
  }
  return changed;
}

/** Returns the station that loses power at this hour, or gets it back, if there is one. */
function outageAt(
  places: readonly Place[],
  day: number,
  hour: number,
): { readonly place: Place; readonly begins: boolean } | undefined {
  if (day % OUTAGE.everyDays !== 0) return undefined;
  // Usually another station than the time before.
  const place = places[(day * 31) % places.length];
  if (place === undefined || (hour !== OUTAGE.from && hour !== OUTAGE.until)) return undefined;
  return { place, begins: hour === OUTAGE.from };
}

/** A priority queue of the bikes under way, by their time of arrival. */
function createArrivals() {
  // A heap: the parent of `index` is at `(index - 1) >> 1`.
  const heap: Arrival[] = [];
  const at = (index: number) => heap[index]?.at ?? Infinity;
  const swap = (a: number, b: number) => {
    const [first, second] = [heap[a], heap[b]];
    if (first === undefined || second === undefined) return;
    heap[a] = second;
    heap[b] = first;
  };
  return {
    add(arrival: Arrival) {
      let index = heap.push(arrival) - 1;
      for (let parent = (index - 1) >> 1; index > 0 && at(index) < at(parent); parent = (index - 1) >> 1) {
        swap(index, parent);
        index = parent;
      }
    },
    /** Removes and returns the next arrival, if it is not later than `instant`. */
    takeUntil(instant: number): Arrival | undefined {
      if (at(0) > instant) return undefined;
      const first = heap[0];
      const last = heap.pop();
      if (heap.length === 0 || last === undefined) return first;
      heap[0] = last;
      for (let index = 0; ;) {
        const left = 2 * index + 1;
        const least = at(left + 1) < at(left) ? left + 1 : left;
        if (at(least) >= at(index)) return first;
        swap(index, least);
        index = least;
      }
    },
  };
}
