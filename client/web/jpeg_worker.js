// Off the page's thread: pictures become JPEG. On it, browsers encode when the page is idle, which
// a page that draws never is.
const canvas = new OffscreenCanvas(1, 1);
const brush = canvas.getContext("2d", { alpha: false });

onmessage = async ({ data: { bitmap, width, height, quality, time } }) => {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  brush.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality });
  const bytes = await blob.arrayBuffer();
  postMessage({ bytes, time }, [bytes]);
};
