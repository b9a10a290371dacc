/** Labels of GBFS fields inside larger values, such as the rules of a zone, if the field's name alone is not clear. */
const labels: Readonly<Record<string, string>> = {
  ios: "iOS",
  store_uri: "Page in the store",
  discovery_uri: "Address that tells whether the app is there",
  brand_last_modified: "Last changed",
  brand_terms_url: "Terms of use",
  brand_image_url: "Picture",
  brand_image_url_dark: "Picture on dark ground",
  color: "Colour",
  icon_url: "Picture",
  icon_url_dark: "Picture on dark ground",
  icon_last_modified: "Last changed",
  vehicle_type_ids: "Only for these types",
  ride_start_allowed: "Rides may start",
  ride_end_allowed: "Rides may end",
  ride_through_allowed: "Riding through is allowed",
  maximum_speed_kph: "Top speed in km/h",
  station_parking: "Parking at stations only",
};

/** Returns the label of a field by its name. */
export function labelOf(name: string): string {
  return labels[name] ?? inWords(name).replace(/^./, (letter) => letter.toUpperCase());
}

/** Returns one of GBFS's words as people write it: `free_floating` is "free floating". */
export function inWords(word: string): string {
  return word.replaceAll("_", " ");
}
