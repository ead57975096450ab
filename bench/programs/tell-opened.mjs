/** Tells the parent that a session is open, what was found, and what this process has used since it was started. */
export function tellOpened(found) {
  const { user, system } = process.cpuUsage();
  const peakRssBytes = process.resourceUsage().maxRSS * 1024;
  process.send({ question: "opened", answer: { ...found, cpuUs: user + system, peakRssBytes } }, () => process.exit());
}
