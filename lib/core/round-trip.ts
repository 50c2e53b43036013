/** The weight of a new measurement. */
const WEIGHT = 0.2;

/** About how long the backend takes to answer, in milliseconds; 0 for one that answers at once. */
export class RoundTrip {
  ms = 0;

  observe(ms: number): void {
    this.ms = this.ms === 0 ? ms : this.ms + WEIGHT * (ms - this.ms);
  }
}
