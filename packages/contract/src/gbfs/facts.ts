import {
  pricingPlanFields,
  regionFields,
  stationInformationFields,
  systemInformation,
  vehicleFields,
  vehicleTypeFields,
  zoneFields,
  zoneRuleFields,
} from "./feeds.ts";
import { type FieldType, id, list, object, text, uri, type ValueOf } from "./types.ts";

/** A fact that the operator can set: a GBFS field, or a value from which several fields follow. */
export interface Fact<Value = unknown> {
  readonly type: FieldType<Value>;
  /** The label of its form field. */
  readonly label: string;
  /** A short description; for a required fact, also what readers lose without it. */
  readonly about: string;
  /** Whether GBFS cannot publish the thing without this fact. */
  readonly required?: true;
  /** The heading that a form shows above this fact and those that follow it. */
  readonly heading?: string;
}

export type Facts = Readonly<Record<string, Fact>>;

/** Makes an optional fact. */
const fact = <Value>(type: FieldType<Value>, label: string, about: string): Fact<Value> => ({ type, label, about });
/** Makes a required fact. */
const needed = <Value>(type: FieldType<Value>, label: string, about: string) =>
  ({ type, label, about, required: true }) as const;
/** Makes a fact the first one under a heading. */
const under = <Of extends Fact>(heading: string, first: Of): Of => ({ ...first, heading });

// Some tables of fields get one letter as their name in this file, because most facts have the type of a field.
const s = systemInformation;
const links = object({ web: { type: uri }, ios: { type: uri }, android: { type: uri } });

const systemFacts = {
  published_id: under(
    "Identity",
    fact(id, "System id", "GBFS's `system_id`: unique in the world, because planners identify the system by it"),
  ),
  name: fact(text, "Name", "What riders call the system"),
  short_name: fact(text, "Short name", "An abbreviation of the name"),
  language: fact(s.language.type, "Language", "The main language of the texts, such as nb or en-GB"),
  operator: fact(text, "Operator", "The company that runs the system"),
  url: fact(uri, "Website", "The system's website"),
  purchase_url: fact(uri, "Sign-up page", "Where a rider buys a membership"),
  start_date: fact(s.start_date.type, "Started on", "The day on which the system began"),
  termination_date: fact(
    s.termination_date.type,
    "Ends on",
    "The day on which the system ends. After 30 more days the feeds answer 410",
  ),
  phone_number: under("Contacts", fact(s.phone_number.type, "Phone", "Customer service, such as +4722001122")),
  email: fact(s.email.type, "Email", "Customer service"),
  feed_contact_email: fact(
    s.feed_contact_email.type,
    "Feed contact",
    "The address that consumers of the feeds write to",
  ),
  opening_hours: under(
    "Hours",
    fact(
      s.opening_hours.type,
      "Opening hours",
      "In OpenStreetMap's syntax. Outside these hours no station rents. Default: 24/7",
    ),
  ),
  timezone: fact(s.timezone.type, "Time zone", "An IANA time zone such as Europe/Oslo"),
  licence: under(
    "Licence and legal",
    fact(s.license_id.type, "Licence", "The licence of the feeds: an SPDX identifier such as CC-BY-4.0, or an address"),
  ),
  attribution_organization_name: fact(text, "Attribution", "Whom consumers of the feeds must name"),
  attribution_url: fact(s.attribution_url.type, "Attribution link", "The page to which the attribution leads"),
  terms_url: fact(s.terms_url.type, "Terms", "The address of the terms of service"),
  terms_last_updated: fact(s.terms_last_updated.type, "Terms of", "The day of the terms' last change"),
  privacy_url: fact(s.privacy_url.type, "Privacy", "The address of the privacy policy"),
  privacy_last_updated: fact(s.privacy_last_updated.type, "Privacy of", "The day of the policy's last change"),
  brand_assets: under(
    "Brand",
    fact(s.brand_assets.type, "Brand", "The logo, its dark version, a colour, and the terms of their use"),
  ),
  rental_apps: under(
    "Apps and links",
    fact(s.rental_apps.type, "Apps", "Where riders get the apps, and how another app opens them"),
  ),
  station_links: fact(
    links,
    "Links to stations",
    "Addresses with {station_id}, which open a station in the app or on the web",
  ),
  vehicle_links: fact(
    links,
    "Links to vehicles",
    "Addresses with {vehicle_id}, which open a vehicle; the id is public and changes with every ride",
  ),
} as const satisfies Facts;

const t = vehicleTypeFields;

const vehicleTypeFacts = {
  name: under("What it is", fact(text, "Name", "What riders call the type")),
  form_factor: fact(t.form_factor.type, "Form", "The shape of the vehicle"),
  propulsion_type: fact(t.propulsion_type.type, "Propulsion", "What moves the vehicle"),
  max_range_meters: fact(
    t.max_range_meters.type,
    "Range in metres",
    "How far the vehicle goes fully charged or fuelled",
  ),
  return_constraint: fact(
    t.return_constraint.type,
    "Return",
    "Where the vehicle may be left. Without this, some planners let riders leave it anywhere",
  ),
  default_pricing_plan_id: under(
    "Price and hold",
    fact(id, "Pricing plan", "The plan that applies. Without one, lamassu shows no vehicle"),
  ),
  pricing_plan_ids: fact(t.pricing_plan_ids.type, "Other plans", "Plans that a rider may choose instead"),
  default_reserve_time: fact(
    t.default_reserve_time.type,
    "Hold in minutes",
    "Minutes that a reservation holds the vehicle; needed if a pricing plan charges for reservations",
  ),
  rider_capacity: under("Details", fact(t.rider_capacity.type, "Riders", "How many people may ride the vehicle")),
  min_age: fact(t.min_age.type, "Minimum age", "The rider's minimum age in years"),
  wheel_count: fact(t.wheel_count.type, "Wheels", "How many wheels the vehicle has"),
  max_permitted_speed: fact(t.max_permitted_speed.type, "Top speed", "The maximum speed in km/h"),
  rated_power: fact(t.rated_power.type, "Power", "The rated power in watts"),
  make: fact(text, "Make", "The manufacturer"),
  model: fact(text, "Model", "The manufacturer's model"),
  color: fact(t.color.type, "Colour", "The colour in words"),
  description: fact(text, "Description", "What a rider should know about the type"),
  vehicle_image: fact(t.vehicle_image.type, "Picture", "The address of a picture"),
  vehicle_assets: fact(t.vehicle_assets.type, "Icon", "The addresses of an icon and of its dark version"),
} as const satisfies Facts;

const i = stationInformationFields;

const stationFacts = {
  name: under(
    "Name and address",
    fact(text, "Name", "The name in several languages; without it, the station's own name"),
  ),
  short_name: fact(text, "Short name", "The short name in several languages"),
  cross_street: fact(i.cross_street.type, "Cross street", "The nearest cross street"),
  post_code: fact(i.post_code.type, "Post code", "Of the station's address"),
  city: fact(i.city.type, "City", "Of the station's address"),
  station_opening_hours: under(
    "Use",
    fact(i.station_opening_hours.type, "Opening hours", "In OpenStreetMap's syntax; without them, those of the system"),
  ),
  rental_methods: fact(i.rental_methods.type, "Payment", "How riders can pay at the station"),
  parking_type: fact(i.parking_type.type, "Parking", "What kind of parking the station is"),
  contact_phone: fact(i.contact_phone.type, "Phone", "The number to call about the station"),
  is_valet_station: fact(i.is_valet_station.type, "Valet", "Whether staff take the bikes at the station"),
  is_charging_station: fact(i.is_charging_station.type, "Charging", "Whether the station charges e-bikes"),
  station_area: under("Space", fact(i.station_area.type, "Area", "The outline of a virtual station, as GeoJSON")),
  vehicle_types_capacity: fact(
    i.vehicle_types_capacity.type,
    "Capacity by type",
    "How many vehicles of these types may be parked at the station",
  ),
  vehicle_docks_capacity: fact(i.vehicle_docks_capacity.type, "Docks by type", "How many docks fit these types"),
  rental_uris: under(
    "Links",
    fact(i.rental_uris.type, "Links", "Addresses that open the station; without them, those of the system"),
  ),
} as const satisfies Facts;

const v = vehicleFields;

const bikeFacts = {
  home_station_id: fact(id, "Home station", "The station to which the bike must be returned"),
  pricing_plan_id: fact(id, "Pricing plan", "The bike's plan, if it differs from its type's"),
  vehicle_equipment: fact(v.vehicle_equipment.type, "Equipment", "Equipment such as child seats and winter tyres"),
  available_until: fact(v.available_until.type, "Until", "When every rental of the bike must have ended"),
} as const satisfies Facts;

const p = pricingPlanFields;

const pricingPlanFacts = {
  name: under("The plan", needed(text, "Name", "What riders call the plan")),
  currency: needed(p.currency.type, "Currency", "ISO 4217, such as EUR"),
  price: needed(p.price.type, "Price", "The fixed part, such as for unlocking; 0 where there is none"),
  is_taxable: needed(p.is_taxable.type, "Taxed", "Whether tax is added to the prices"),
  description: needed(text, "Description", "The whole price in words, as a rider reads it"),
  url: fact(uri, "Page", "Where the plan is described"),
  per_min_pricing: under(
    "Steps",
    fact(
      p.per_min_pricing.type,
      "By time",
      "Steps: from minute `start`, `rate` for every `interval` minutes (0: once), until minute `end`",
    ),
  ),
  per_km_pricing: fact(
    p.per_km_pricing.type,
    "By distance",
    "Steps: from kilometre `start`, `rate` for every `interval` kilometres (0: once), until kilometre `end`",
  ),
  surge_pricing: fact(p.surge_pricing.type, "Surge", "Whether prices rise with demand"),
  reservation_price_per_min: under(
    "Reservations and caps",
    fact(
      p.reservation_price_per_min.type,
      "Reservation by minute",
      "The price of each minute of a hold; not together with a flat price",
    ),
  ),
  reservation_price_flat_rate: fact(
    p.reservation_price_flat_rate.type,
    "Reservation, flat",
    "The price of a hold; not together with a price by minute",
  ),
  fare_capping: fact(p.fare_capping.type, "Cap", "The most that a rider pays within `duration` minutes"),
} as const satisfies Facts;

const regionFacts = { name: needed(regionFields.name.type, "Name", "What riders call the region") } as const;

const zonesFacts = {
  features: needed(list(object(zoneFields)), "Zones", "GeoJSON features: each a MultiPolygon with rules"),
  global_rules: needed(list(object(zoneRuleFields)), "Elsewhere", "The rules outside all zones"),
} as const satisfies Facts;

/**
 * The kinds of things that the operator can describe, with their facts. Each thing is found by the operator's own id,
 * except the system and its zones, which a system has once.
 */
export const factKinds = {
  system: systemFacts,
  vehicle_type: vehicleTypeFacts,
  region: regionFacts,
  station: stationFacts,
  bike: bikeFacts,
  pricing_plan: pricingPlanFacts,
  geofencing_zones: zonesFacts,
} as const satisfies Readonly<Record<string, Facts>>;

export type FactKind = keyof typeof factKinds;

/** The facts of one thing, in canonical form. */
export type FactsOf<Kind extends FactKind> = ValueOf<(typeof factKinds)[Kind]>;

/**
 * Changes to facts. A text is a string in the system's main language, or one for each of several languages. Null
 * removes a fact.
 */
export type FactChanges<Kind extends FactKind> = {
  readonly [Name in keyof FactsOf<Kind>]?:
    | FactsOf<Kind>[Name]
    | (FactsOf<Kind>[Name] extends readonly { text: string; language: string }[] | undefined ? string : never)
    | null
    | undefined;
};
