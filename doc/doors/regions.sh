skgpb new sky.skgpb --bounds azimuth=0:90 altitude=0:60 --answer brightness --regions
skgpb ask sky.skgpb
skgpb tell sky.skgpb 0.06
skgpb best sky.skgpb --side azimuth=10 altitude=10
