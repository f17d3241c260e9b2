mod anchors;
mod headings;
mod lines;
mod names;
