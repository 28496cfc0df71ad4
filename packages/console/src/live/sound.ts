/** A short sound of two tones. */

const TONES = [
  { hertz: 660, atSeconds: 0 },
  { hertz: 880, atSeconds: 0.14 },
];
const TONE_SECONDS = 0.18;
const VOLUME = 0.15;
const CLOSE_MS = 1_000;

/** Browsers permit it only after the user pressed something in this page. */
export function playNotice(): void {
  const context = new AudioContext();
  const startAt = context.currentTime;
  for (const { hertz, atSeconds } of TONES) {
    const tone = new OscillatorNode(context, { frequency: hertz });
    const volume = new GainNode(context, { gain: VOLUME });
    const from = startAt + atSeconds;
    // Without the fall, the end of a tone is a click.
    volume.gain.setValueAtTime(VOLUME, from);
    volume.gain.exponentialRampToValueAtTime(0.001, from + TONE_SECONDS);
    tone.connect(volume).connect(context.destination);
    tone.start(from);
    tone.stop(from + TONE_SECONDS);
  }
  setTimeout(() => void context.close(), CLOSE_MS);
}
