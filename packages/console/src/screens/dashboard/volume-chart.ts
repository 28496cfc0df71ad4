/** The chart of resolved requests over time: stacked bars, drawn by uPlot. */

import type { StatisticsAnswer } from "@countersign/review-api";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { formatNumber } from "../../language/t.ts";
import { clockTime, dayOfMonth } from "../../parts/time-words.ts";
import { type ResolvedStatus, STATUSES } from "./statuses.ts";

type Bucket = StatisticsAnswer["buckets"][number];

const HEIGHT_PX = 220;

export class VolumeChart {
  readonly #box: HTMLElement;
  readonly #stop = new AbortController();
  readonly #resizes: ResizeObserver;
  readonly #themes: MutationObserver;
  #plot: uPlot;

  /** @param box element with colours for the statuses, as children of `.swatch` in its panel */
  constructor(box: HTMLElement, buckets: readonly Bucket[], bucket: "hour" | "day") {
    this.#box = box;
    const draw = () => new uPlot(optionsOf(box, bucket), stack(buckets), box);
    const redraw = () => {
      this.#plot.destroy();
      this.#plot = draw();
    };
    this.#plot = draw();
    this.#resizes = new ResizeObserver(() => {
      const { width } = this.#plot;
      if (box.clientWidth > 0 && box.clientWidth !== width) {
        this.#plot.setSize({ width: box.clientWidth, height: HEIGHT_PX });
      }
    });
    this.#resizes.observe(box);
    const { signal } = this.#stop;
    for (const feature of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) {
      matchMedia(feature).addEventListener("change", redraw, { signal });
    }
    this.#themes = new MutationObserver(redraw);
    this.#themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  close(): void {
    this.#stop.abort();
    this.#resizes.disconnect();
    this.#themes.disconnect();
    this.#plot.destroy();
    this.#box.replaceChildren();
  }
}

const LABEL_PX = 72;

/** As many bars as have room for a label, at even distances, with the latest one. */
function labelledTimes({ data: [times], width }: uPlot): number[] {
  const every = Math.ceil((times.length * LABEL_PX) / Math.max(LABEL_PX, width));
  return Array.from(times).filter((_, index) => (times.length - 1 - index) % every === 0);
}

/** Statuses from the top of a bar down: each next bar covers the lower part of the one before. */
const DRAWN = STATUSES.toReversed();

/** Times in seconds, and for each status the sum of its own count and of the statuses below it. */
function stack(buckets: readonly Bucket[]): uPlot.AlignedData {
  const times = buckets.map(({ from }) => Date.parse(from) / 1_000);
  const sums = DRAWN.map((status) => {
    const below = STATUSES.slice(0, STATUSES.indexOf(status) + 1);
    return buckets.map((bucket) => below.reduce((sum, each) => sum + bucket[each], 0));
  });
  return [times, ...sums];
}

function optionsOf(box: HTMLElement, bucket: "hour" | "day"): uPlot.Options {
  const ink = getComputedStyle(box);
  const axis = { stroke: ink.color, grid: { stroke: ink.borderColor, width: 1 }, font: ink.font };
  const seconds = bucket === "hour" ? 3_600 : 86_400;
  return {
    width: Math.max(200, box.clientWidth),
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: true, range: (_, min, max) => [min - seconds / 2, max + seconds / 2] },
      y: { range: (_, __, max) => [0, Math.max(4, max * 1.05)] },
    },
    axes: [
      {
        ...axis,
        ticks: { show: false },
        grid: { show: false },
        size: 30,
        splits: labelledTimes,
        values: (_, times) => times.map(labelOf(bucket)),
      },
      {
        ...axis,
        ticks: { show: false },
        size: 48,
        values: (_, counts) => counts.map(formatNumber),
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000],
      },
    ],
    series: [
      {},
      ...DRAWN.map((status) => ({
        label: status,
        width: 0,
        paths: uPlot.paths.bars?.({ size: [0.7, 48] }) as uPlot.Series.PathBuilder,
        points: { show: false },
        fill: patternOf(box, status),
      })),
    ],
  };
}

function labelOf(bucket: "hour" | "day"): (seconds: number) => string {
  return (seconds) => (bucket === "hour" ? clockTime : dayOfMonth)(seconds * 1_000);
}

const TILE_PX = 8;

/** A pattern for each status, so that colour is not the only difference. */
function patternOf(
  box: HTMLElement,
  status: ResolvedStatus,
): CanvasRenderingContext2D["fillStyle"] {
  const swatch = box.parentElement?.querySelector(`.swatch.${status}`) ?? box;
  const { color, backgroundColor } = getComputedStyle(swatch);
  const tile = document.createElement("canvas");
  tile.width = TILE_PX;
  tile.height = TILE_PX;
  const pen = tile.getContext("2d");
  if (pen === null) return color;
  pen.fillStyle = backgroundColor;
  pen.fillRect(0, 0, TILE_PX, TILE_PX);
  pen.fillStyle = color;
  pen.strokeStyle = color;
  drawTile(pen, status);
  return pen.createPattern(tile, "repeat") ?? color;
}

function drawTile(pen: CanvasRenderingContext2D, status: ResolvedStatus): void {
  const size = TILE_PX;
  if (status === "approved") pen.fillRect(0, 0, size, size);
  if (status === "expired") pen.fillRect(2, 2, 3, 3);
  if (status === "cancelled") pen.fillRect(0, 0, size, 2);
  if (status !== "denied") return;
  pen.lineWidth = 3;
  for (const offset of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(offset - 2, size + 2);
    pen.lineTo(offset + size + 2, -2);
    pen.stroke();
  }
}
