/** Milliseconds of CPU that this process has used: unlike the time of day it does not run while others have the core. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
