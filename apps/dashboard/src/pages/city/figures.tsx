import type { Glance } from "@bikeshare/contract/console";
import type { ComponentChildren } from "preact";
import { Link } from "wouter-preact";
import { Sparkline } from "../../components/sparkline.tsx";
import { addressIn, type PageScope } from "../scope.ts";
import { comparedText, lastingText } from "./times.ts";

interface FiguresProps {
  /** The present state of the city. Undefined until it is loaded: the tiles then have no values. */
  readonly glance: Glance | undefined;
  readonly scope: PageScope;
}

interface Tile {
  readonly label: string;
  /** Null: not known. Undefined: not loaded. */
  readonly value: number | null | undefined;
  readonly note: ComponentChildren;
  /** The values of the sparkline. Null: not known. */
  readonly values: readonly (number | null)[];
  readonly needsAttention?: boolean;
  readonly href: string;
}

/** Six key figures of the city, each with a sparkline of the last day. */
export function CityFigures({ glance, scope }: FiguresProps) {
  return (
    <ul class="city-figures" aria-label="The city now" aria-busy={glance === undefined}>
      {tilesOf(glance, scope).map(({ label, value, note, values, needsAttention = false, href }) => (
        <li key={label} class="city-figure">
          <Link href={href}>
            <span class="city-figure-label">{label}</span>
            <span class="city-figure-value">{countText(value)}</span>
          </Link>
          <span class={needsAttention ? "city-figure-note city-figure-attention" : "city-figure-note"}>{note}</span>
          <Sparkline values={values} />
        </li>
      ))}
    </ul>
  );
}

/** Returns one value for each step of the last day, for a sparkline. */
type ValuesOf = (of: (step: Glance["recent"][number]) => number | null | undefined) => readonly (number | null)[];

/** Returns the figures. A number that is not known stays null, and is a dash in a note. */
export function tilesOf(glance: Glance | undefined, scope: PageScope): readonly Tile[] {
  const steps = glance?.recent ?? [];
  const { fleet, rides } = glance ?? {};
  const valuesOf: ValuesOf = (of) => steps.map((step) => of(step) ?? null);
  const to = (page: string, query = {}) => addressIn(scope, page, query);
  return [
    {
      label: "Available",
      value: fleet?.available,
      note: fleet && `${countText(fleet.reserved)} reserved`,
      values: valuesOf((step) => step.fleet?.available),
      href: to("bikes", { vehicle_state: "available" }),
    },
    {
      label: "On a ride",
      value: rides?.under_way,
      note: rides && longText(rides),
      values: valuesOf((step) => step.fleet?.on_trip),
      needsAttention: (rides?.under_way_long ?? 0) > 0,
      href: to("rides", { status: "started" }),
    },
    {
      label: "Broken or missing",
      value: fleet && unusableIn(fleet),
      note: fleet && `${countText(fleet.disabled)} broken, ${countText(fleet.missing)} missing`,
      values: valuesOf((step) => step.fleet && unusableIn(step.fleet)),
      href: to("bikes", { vehicle_state: "non_operational" }),
    },
    ...stationTiles(glance, to, valuesOf),
    {
      label: "Rides today",
      value: rides?.today.until_now,
      note: rides && usualText(rides),
      values: valuesOf((step) => step.rides_started),
      href: to("rides"),
    },
  ];
}

function stationTiles(
  glance: Glance | undefined,
  to: (page: string, query: Readonly<Record<string, string>>) => string,
  valuesOf: ValuesOf,
): readonly Tile[] {
  return (["empty", "full"] as const).map((kind) => ({
    label: `Stations ${kind}`,
    value: glance?.stations[kind].count,
    note: glance && longestText(glance.stations[kind].data[0], glance.at),
    values: valuesOf((step) => step.stations?.[kind]),
    href: to("stations", { availability: kind }),
  }));
}

/** Returns how many bikes are broken or missing. Null: one of the two numbers is not known, and so neither is the sum. */
const unusableIn = ({ disabled, missing }: Glance["fleet"]) =>
  disabled === null || missing === null ? null : disabled + missing;

const countText = (n: number | null | undefined) => (typeof n === "number" ? Math.round(n).toLocaleString("en") : "–");

function longText({ under_way_long: long, long_after_seconds: after }: Glance["rides"]): string {
  const hours = Math.round(after / 3_600);
  return long === 0 ? `none longer than ${hours} h` : `${countText(long)} longer than ${hours} h`;
}

/** Returns the text about the station that has been empty or full for the longest time. */
function longestText(longest: Glance["stations"]["empty"]["data"][number] | undefined, now = ""): string {
  if (longest === undefined) return "none now";
  if (longest.since === null) return `longest: ${longest.name}`;
  return `${lastingText(Date.parse(now) - Date.parse(longest.since))}: ${longest.name}`;
}

const WEEK_MS = 7 * 86_400_000;

/**
 * Compares today's rides with the usual number up to the same time of day, because a part of a day cannot be compared with a
 * whole one.
 */
function usualText({ today, before, usual_until_now: usual }: Glance["rides"]): string {
  if (usual === null || usual === 0) return "nothing to compare with yet";
  // The same weekday in earlier weeks, newest first. The newest is named only if it was a week ago.
  const [last] = before;
  const isLastWeek = last !== undefined && Date.parse(today.day) - Date.parse(last.day) === WEEK_MS;
  const lastWeek = isLastWeek ? `, ${countText(last.until_now)} a week ago` : "";
  return `${comparedText(today.until_now, usual)}: usually ${countText(usual)} by now${lastWeek}`;
}
