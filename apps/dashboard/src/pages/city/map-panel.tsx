import type { StationMap } from "@bikeshare/contract/console";
import type { ComponentChildren } from "preact";
import { Icon } from "../../components/icon.tsx";
import { LazyMap } from "../../components/lazy-map.tsx";
import type { CityMapProps } from "../../components/map/city-map.tsx";
import { Legend } from "../../components/map/legend.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { type Layer, layers, useLayers } from "./city-data.ts";
import "./city.css";

interface MapPanelProps {
  readonly systemId: string;
  /** The stations; undefined until they are loaded. */
  readonly map: StationMap | undefined;
  readonly matching?: ReadonlySet<string> | undefined;
  readonly selectedId: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
  /**
   * Whether layers can be chosen. They show the present, so a map of the past has none. The map beside the table of stations,
   * which partners see too, has none either.
   */
  readonly hasLayers: boolean;
  readonly isWholePage?: boolean;
  /** Content between the map and its legend. */
  readonly children?: ComponentChildren;
}

/** The city's map with its layers and its legend. */
export function MapPanel(props: MapPanelProps) {
  const { systemId, map, matching, selectedId, onSelect, hasLayers, isWholePage = false, children } = props;
  const chosen = useChosenLayers();
  const shown = useLayers(systemId, hasLayers ? chosen : []);
  return (
    <section class={isWholePage ? "city-map city-map-whole" : "city-map card"} aria-label="Map">
      <div class="city-map-view">
        <LazyMap
          label="Map of the stations"
          regions={map?.regions ?? []}
          {...{ map, isWholePage, matching, selectedId, onSelect, ...shown }}
        />
        {hasLayers && <LayerToggles chosen={chosen} />}
      </div>
      {children}
      <Legend stations={map?.data ?? []} />
    </section>
  );
}

interface FlowsMapProps {
  readonly map: StationMap | undefined;
  readonly stationId: string;
  readonly flows: NonNullable<CityMapProps["flows"]>;
  readonly onSelect: (id: string) => void;
}

/** A map with arcs for the rides from and to one station. The lists beside the map name the same stations. */
export function StationFlowsMap({ map, stationId, flows, onSelect }: FlowsMapProps) {
  return (
    <div class="city-map-view station-flows-map">
      <LazyMap
        label="Map of the rides from and to this station"
        map={map}
        selectedId={stationId}
        flows={flows}
        onSelect={(id) => id !== undefined && id !== stationId && onSelect(id)}
      />
    </div>
  );
}

const layerLabels: Readonly<Record<Layer, string>> = {
  bikes: "Free-standing bikes",
  flows: "Rides of the last hour",
  empty: "Minutes empty today",
};

/** Returns the layers that the address names: `?layers=bikes,empty`. */
function useChosenLayers(): readonly Layer[] {
  const names = useUrlState().get("layers").split(",");
  return layers.filter((layer) => names.includes(layer));
}

function LayerToggles({ chosen }: { readonly chosen: readonly Layer[] }) {
  const url = useUrlState();
  const set = (changed: Layer, isShown: boolean) => {
    const next = layers.filter((layer) => (layer === changed ? isShown : chosen.includes(layer)));
    url.filter({ layers: next.join(",") });
  };
  return (
    <details class="city-layers">
      <summary>
        <Icon name="layers" /> Layers{chosen.length > 0 && <span class="city-layers-count">{chosen.length}</span>}
      </summary>
      <div role="group" aria-label="Layers">
        {layers.map((layer) => (
          <label key={layer}>
            <input
              type="checkbox"
              checked={chosen.includes(layer)}
              onChange={({ currentTarget: { checked } }) => set(layer, checked)}
            />
            {layerLabels[layer]}
          </label>
        ))}
      </div>
    </details>
  );
}
