import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command, type Service } from "./service.ts";

/** The data of the service before any test. Tests that change data create their own partner. */
export interface World {
  readonly url: string;
  readonly dataDir: string;
  readonly systemId: string;
  /** The partner whose pages the tests open. */
  readonly partnerId: string;
  /** The key with which the operator's backend calls the service. */
  readonly operatorKey: string;
  /** The session cookie of an admin of the operator who only invites others. */
  readonly inviter: string;
}

const STATION_COUNT = 60;
const BIKE_COUNT = 20;

/** Fills an empty service with a small city and a partner. */
export async function fillService({ url, dataDir }: Service): Promise<World> {
  const feeds = await mkdtemp(join(tmpdir(), "bikeshare-feeds-"));
  try {
    await writeFeeds(feeds);
    await writeTrips(join(feeds, "trips.csv"));
    await command(dataDir, "import", "gbfs", feeds);
    await command(dataDir, "import", "trips", join(feeds, "trips.csv"), "--time-zone", "Europe/Vienna");
  } finally {
    await rm(feeds, { recursive: true, force: true });
  }
  const { id } = await command(dataDir, "partners", "create", "Transit App");
  const partnerId = String(id);
  const { key } = await command(dataDir, "keys", "issue", "--operator");
  const inviter = await signInInviter(url, dataDir);
  return { url, dataDir, systemId: "main", partnerId, operatorKey: String(key), inviter };
}

let invited = 0;

/** Invites an admin of the operator with the command line, and signs them in. @returns the session cookie: `name=value` */
export async function signInInviter(url: string, dataDir: string): Promise<string> {
  invited += 1;
  const email = `inviter-${process.pid}-${invited}@example.com`;
  const { url: link } = await command(dataDir, "console", "invite", "--email", email, "--operator");
  return acceptInvitation(url, String(link), "Inviter");
}

/**
 * Accepts an invitation through the API. The page of invitations has its own tests. @returns the session cookie:
 * `name=value`
 */
export async function acceptInvitation(url: string, link: string, name: string): Promise<string> {
  return beginSession(`${url}/console/v1/invitations/accept`, { token: new URL(link).hash.slice(1), name });
}

/** Signs in through the API, as in another browser. @returns the session cookie: `name=value` */
export async function signInByPassword(url: string, email: string, password: string): Promise<string> {
  return beginSession(`${url}/console/v1/sign-in/password`, { email, password });
}

async function beginSession(address: string, body: object): Promise<string> {
  const response = await fetch(address, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", origin: new URL(address).origin },
  });
  const [cookie = ""] = response.headers.getSetCookie();
  if (!response.ok) throw new Error(`No session was begun: ${await response.text()}`);
  return cookie.split(";", 1)[0] ?? "";
}

/**
 * Writes the GBFS feeds of a city: stations on a spiral, from full to empty, a few of them closed, and bikes next to them.
 */
async function writeFeeds(directory: string): Promise<void> {
  const numbers = Array.from({ length: STATION_COUNT }, (_, index) => index);
  const now = Math.floor(Date.now() / 1000);
  const write = (name: string, data: object) =>
    writeFile(join(directory, `${name}.json`), JSON.stringify({ last_updated: now, ttl: 60, version: "2.3", data }));
  await write("system_information", {
    system_id: "main",
    name: "Bike Town",
    language: "en",
    timezone: "Europe/Vienna",
  });
  await write("station_information", {
    stations: numbers.map((index) => ({
      station_id: `station-${index + 1}`,
      name: `${STREETS[index % STREETS.length]} ${Math.floor(index / STREETS.length) + 1}`,
      lat: 48.21 + 0.0012 * index * 0.4 * Math.sin(index * 0.6),
      lon: 16.37 + 0.0018 * index * 0.4 * Math.cos(index * 0.6),
      capacity: 12 + (index % 9),
    })),
  });
  await write("free_bike_status", {
    bikes: numbers.slice(0, BIKE_COUNT).map((index) => ({
      bike_id: `bike-${index + 1}`,
      lat: 48.21 + 0.001 * index,
      lon: 16.37 + 0.001 * index,
      is_reserved: index % 6 === 4,
      is_disabled: index % 8 === 7,
      last_reported: now,
    })),
  });
  await write("station_status", {
    stations: numbers.map((index) => {
      const capacity = 12 + (index % 9);
      const bikes = index % 7 === 0 ? 0 : (index * 5) % (capacity + 1);
      const isOpen = index % 17 !== 5;
      return {
        station_id: `station-${index + 1}`,
        num_bikes_available: bikes,
        num_docks_available: capacity - bikes,
        is_installed: true,
        is_renting: isOpen,
        is_returning: isOpen,
        last_reported: now,
      };
    }),
  });
}

/** Writes a trip file with twelve rides of a day in January. */
async function writeTrips(file: string): Promise<void> {
  const rides = Array.from({ length: 12 }, (_, n) => {
    const [hour, minute] = [8 + n, 10 + n].map((part) => String(part).padStart(2, "0"));
    const [from, to] = [(n % 5) + 1, 3];
    return `TRIP${n},classic_bike,2026-01-15 ${hour}:00:00,2026-01-15 ${hour}:${minute}:00,,station-${from},,station-${to},,,,,member`;
  });
  const columns =
    "ride_id,rideable_type,started_at,ended_at,start_station_name,start_station_id,end_station_name,end_station_id,start_lat,start_lng,end_lat,end_lng,member_casual";
  await writeFile(file, [columns, ...rides].join("\n"));
}

const STREETS = ["Harbour Street", "Market Square", "Old Mill", "Station Road", "University", "Riverside", "City Hall"];
