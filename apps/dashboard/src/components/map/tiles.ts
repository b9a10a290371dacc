/** Draws streets below a map, from the tile server that the operator has configured. */
import { clearedCanvas } from "./draw.ts";
import { type PlacedTile, type Size, tilesOf, type Viewport } from "./viewport.ts";

/** The number of tile images that are kept. Too low: the images of the next zoom evict those that are shown. */
const MAX_KEPT = 400;
/** How many zoom levels up a coarser tile may be taken from, to fill in for a tile that is not loaded yet. */
const MAX_STAND_IN = 4;
/** The least time after which a tile is requested again that failed. Doubles with each further failure of the tile. */
const FIRST_PAUSE_MS = 5_000;
/** Where the doubling ends. Too low: a dead tile server is hammered. Too high: its return is noticed late. */
const MAX_PAUSE_MS = 300_000;

/** The street map below a city map. */
export interface Tiles {
  /** Draws the loaded tiles, and requests the missing ones. */
  draw(element: HTMLCanvasElement, view: Viewport, size: Size): void;
}

/** The image of a tile, which is kept. */
interface Picture {
  readonly image: HTMLImageElement;
  /** The time of the page's clock from which the image is requested when it is drawn. Infinity: it has been requested. */
  requestAt: number;
}

/**
 * Creates the street map.
 * @param url the address of the tiles, with `{z}` for the zoom level, `{x}` for the column, `{y}` for the row, and
 *   maybe `{r}`
 * @param onArrived called when an image is loaded, so that the map is drawn again
 */
export function createTiles(url: string, onArrived: () => void): Tiles {
  const pictures = new Map<string, Picture>();
  // `{r}` becomes `@2x` on screens with small pixels, for images with twice the resolution.
  const addressOf = (z: number, x: number, y: number) =>
    url
      .replace("{z}", String(z))
      .replace("{x}", String(x))
      .replace("{y}", String(y))
      .replace("{r}", devicePixelRatio > 1 ? "@2x" : "");
  /** Returns the image of a tile, and requests it if it is due. */
  const imageOf = (z: number, x: number, y: number): HTMLImageElement => {
    const address = addressOf(z, x, y);
    const kept = pictures.get(address) ?? newPicture(onArrived);
    // Moves the picture to the end of the map: the least recently used ones are evicted first.
    pictures.delete(address);
    pictures.set(address, kept);
    if (performance.now() >= kept.requestAt) {
      kept.requestAt = Infinity;
      // After a failure, the same address requests the image again.
      kept.image.src = address;
      for (const [oldest] of pictures) {
        if (pictures.size <= MAX_KEPT) break;
        pictures.delete(oldest);
      }
    }
    return kept.image;
  };
  /** Returns the image of a tile if it is loaded. Requests nothing. */
  const findDrawn = (z: number, x: number, y: number) => {
    const image = pictures.get(addressOf(z, x, y))?.image;
    return isDrawable(image) ? image : undefined;
  };
  return {
    draw(element, view, size) {
      const canvas = clearedCanvas(element, size);
      if (canvas === null) return;
      for (const tile of tilesOf(view, size)) {
        const image = imageOf(tile.z, tile.x, tile.y);
        if (isDrawable(image)) drawTile(canvas, image, tile);
        else drawStandIn(canvas, tile, findDrawn);
      }
    },
  };
}

/** Returns a picture that is not requested yet. After each failure it may be requested again, after a longer pause. */
function newPicture(onArrived: () => void): Picture {
  const image = new Image();
  const picture: Picture = { image, requestAt: 0 };
  let pause = FIRST_PAUSE_MS;
  // Tile servers ask for a Referer. The page sends none anywhere else.
  image.referrerPolicy = "origin";
  image.addEventListener("load", onArrived);
  image.addEventListener("error", () => {
    picture.requestAt = performance.now() + pause;
    pause = Math.min(2 * pause, MAX_PAUSE_MS);
  });
  return picture;
}

function isDrawable(image: HTMLImageElement | undefined): image is HTMLImageElement {
  return image?.complete === true && image.naturalWidth > 0;
}

type FindDrawn = (z: number, x: number, y: number) => HTMLImageElement | undefined;

/** Draws the matching part of a coarser tile while the tile itself is loading. */
function drawStandIn(canvas: CanvasRenderingContext2D, tile: PlacedTile, findDrawn: FindDrawn): void {
  const { z, x, y, left, top, side } = tile;
  for (let up = 1; up <= Math.min(MAX_STAND_IN, z); up++) {
    // With each zoom level up, one tile covers two columns and two rows of the level below.
    const image = findDrawn(z - up, x >> up, y >> up);
    if (image === undefined) continue;
    const part = image.naturalWidth / 2 ** up;
    const from = { x: (x % 2 ** up) * part, y: (y % 2 ** up) * part };
    canvas.drawImage(image, from.x, from.y, part, part, left, top, side, side);
    return;
  }
}

/** Draws a tile slightly larger than its place, because gaps between tiles would be visible as lines. */
function drawTile(canvas: CanvasRenderingContext2D, image: HTMLImageElement, { left, top, side }: PlacedTile): void {
  canvas.drawImage(image, left - 0.25, top - 0.25, side + 0.5, side + 0.5);
}
