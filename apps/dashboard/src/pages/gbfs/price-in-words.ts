import type { FactsOf } from "@bikeshare/contract/facts";

type Plan = FactsOf<"pricing_plan">;
type Steps = NonNullable<Plan["per_min_pricing"]>;

/** Returns a plan's price in one sentence, as a rider reads it. */
export function priceInWords(plan: Plan): string {
  const money = (amount: number) => moneyIn(plan.currency ?? "", amount);
  const { price = 0, per_min_pricing: minutes = [], per_km_pricing: kilometres = [] } = plan;
  const steps = [...stepsInWords(minutes, "minute", money), ...stepsInWords(kilometres, "kilometre", money)];
  const start = price > 0 ? `${money(price)} for the ride` : "free";
  const perMinute = plan.reservation_price_per_min ?? 0;
  const flat = plan.reservation_price_flat_rate ?? 0;
  const cap = plan.fare_capping;
  const parts = [
    // A plan without a price for the ride may cost something by its steps. Only without these it is free.
    ...(price > 0 || steps.length === 0 ? [start] : []),
    ...steps,
    ...(perMinute > 0 ? [`${money(perMinute)} a minute to hold it`] : []),
    ...(flat > 0 ? [`${money(flat)} to hold it`] : []),
    ...(cap?.price === undefined ? [] : [`at most ${money(cap.price)} within ${cap.duration ?? 0} minutes`]),
    ...(plan.surge_pricing === true ? ["more when demand is high"] : []),
  ];
  const sentence = `${parts.join(", ")}${plan.is_taxable === true ? ", plus tax" : ""}.`;
  return sentence.replace(/^./, (letter) => letter.toUpperCase());
}

/** Describes what is charged by time or distance. A negative rate is a discount; an interval of 0 charges it once. */
function stepsInWords(steps: Steps, unit: string, money: (amount: number) => string): string[] {
  return steps.map(({ start = 0, rate = 0, interval = 0, end }) => {
    const amount = rate < 0 ? `${money(-rate)} less` : money(rate);
    const each = interval === 1 ? `a ${unit}` : `every ${interval} ${unit}s`;
    const from = start === 0 ? "" : ` from ${unit} ${start}`;
    const until = end === undefined ? "" : ` until ${unit} ${end}`;
    return interval === 0 ? `${amount} once at ${unit} ${start}` : `${amount} ${each}${from}${until}`;
  });
}

function moneyIn(currency: string, amount: number): string {
  try {
    // Four decimals, because a price per minute may be smaller than the smallest coin.
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: 4 }).format(amount);
  } catch {
    return `${amount} ${currency}`.trim();
  }
}
