import type { FactsOf } from "@bikeshare/contract";

/** Links by platform. */
export interface Links {
  readonly web?: string | undefined;
  readonly ios?: string | undefined;
  readonly android?: string | undefined;
}

/** The system's apps, by platform. */
type Apps = FactsOf<"system">["rental_apps"];

/**
 * Returns a function that builds an id's links from a template.
 * @param templates the operator's, by platform; undefined: none
 * @param placeholder the part of a template that the id replaces
 * @param apps the system's apps. Without one, a link into an app is left out.
 */
export function linkWriter(
  templates: Links | undefined,
  placeholder: string,
  apps: Apps,
): (id: string) => Links | undefined {
  const usable = usableLinks(templates, apps);
  if (usable === undefined) return () => undefined;
  return (id) => {
    // `encodeURIComponent` throws for half of a surrogate pair.
    const encoded = encodeURIComponent(id.toWellFormed());
    const fill = (template: string | undefined) => template?.replaceAll(placeholder, () => encoded);
    return { web: fill(usable.web), ios: fill(usable.ios), android: fill(usable.android) };
  };
}

/**
 * Returns the links of a station or bike: for each platform its own link, or else the one made from a template. Undefined:
 * there are none. Own links into an app are kept even if the system has no link to install the app: a link that may not work
 * is better than none.
 */
export function linksOf(made: Links | undefined, own: Links | undefined): Links | undefined {
  if (own === undefined) return made;
  return made === undefined ? own : { ...made, ...own };
}

/** Omits links into an app when riders have no link to install the app. */
function usableLinks(links: Links | undefined, apps: Apps): Links | undefined {
  const usable: Links = {
    web: links?.web,
    ios: apps?.ios?.store_uri && links?.ios,
    android: apps?.android?.store_uri && links?.android,
  };
  return usable.web === undefined && usable.ios === undefined && usable.android === undefined ? undefined : usable;
}
